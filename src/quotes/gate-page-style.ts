/**
 * The page's only style sheet. On a narrow screen each symbol becomes a card; the roles in the markup keep it a table for
 * those who do not see it. A state is told by its word and its shape; the colour only repeats it.
 */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --line: #c9ced6; --soft: #5a6472; --open: #0b6b2f; --closed: #b00020; --paper: #fff; --ink: #16191d; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3a424d; --soft: #a3adba; --open: #6fdc95; --closed: #ff8a95; --paper: #14171b; --ink: #eceff3; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.4 system-ui, sans-serif; }
header, main { max-width: 76rem; margin: 0 auto; padding: 0.75rem 1rem; }
header { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; align-items: baseline; justify-content: space-between; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 1rem 0 0.25rem; }
p { margin: 0.25rem 0; }
.soft { color: var(--soft); }
.old table, .old ul { opacity: 0.6; }
.old #connection, .closed { color: var(--closed); font-weight: 600; }
.open { color: var(--open); font-weight: 600; }
ul { margin: 0; padding: 0; list-style: none; }
li { padding: 0.25rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
form { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: end; }
label { display: grid; gap: 0.1rem; color: var(--soft); font-size: 0.875rem; }
input, select, button { font: inherit; min-height: 2.5rem; padding: 0.25rem 0.5rem; max-width: 100%; }
:focus-visible { outline: 3px solid #2f7de1; outline-offset: 1px; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding: 0.5rem 0 0.25rem; }
th, td { padding: 0.4rem 0.5rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; font-size: 0.875rem; }
th:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }
td .reason { display: block; font-size: 0.875rem; color: var(--soft); }
tbody th { white-space: nowrap; }
nav { display: flex; gap: 0.5rem; padding: 0.75rem 0; }
@media (max-width: 40rem) {
  table, caption, tbody { display: block; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody tr { display: grid; grid-template-columns: repeat(3, 1fr); gap: 0.2rem 0.75rem; padding: 0.6rem 0; border-bottom: 1px solid var(--line); }
  th, td, th:first-child, td:nth-child(2) { border: 0; padding: 0; text-align: left; overflow-wrap: anywhere; }
  td::before { content: attr(data-label); display: block; font-size: 0.75rem; color: var(--soft); }
  tbody th { font-size: 1.1rem; white-space: normal; }
  td:nth-child(2) { grid-column: 2 / -1; }
  td:nth-child(2)::before { content: none; }
}
`;
