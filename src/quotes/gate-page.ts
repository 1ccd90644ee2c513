import { createHash } from 'node:crypto';
import { PAGE_SCRIPT } from './gate-page-script';
import { PAGE_STYLE } from './gate-page-style';

const HEADINGS = ['Symbol', 'State', 'Bid', 'Ask', 'Silence', 'Source age', 'Lost', 'Suspect since'];

/** One document for everybody: it holds no data, so that there is nothing in it to escape. */
export const GATE_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Quote health</title>
<link rel="icon" href="data:,">
<style>${PAGE_STYLE}</style>
</head>
<body>
<header>
<h1>Quote health</h1>
<p id="connection" role="status">Connecting …</p>
</header>
<main>
<noscript><p>This page needs JavaScript; <a href="/v1/symbols">/v1/symbols</a> shows the same as JSON.</p></noscript>
<section aria-labelledby="feeds-title">
<h2 id="feeds-title">Feeds</h2>
<ul id="feeds"></ul>
</section>
<section aria-labelledby="symbols-title">
<h2 id="symbols-title">Symbols</h2>
<form id="view" role="search">
<label>Symbol contains <input name="filter" type="search" maxlength="64" autocomplete="off" autocapitalize="characters"></label>
<label>Show at most <select name="limit"><option>25</option><option selected>50</option><option>100</option><option>200</option></select></label>
</form>
<p id="count" class="soft"></p>
<table role="table">
<caption>May an order for the symbol open now?</caption>
<thead><tr role="row">${HEADINGS.map((text) => `<th scope="col" role="columnheader">${text}</th>`).join('')}</tr></thead>
<tbody id="rows" role="rowgroup"></tbody>
</table>
<nav aria-label="Parts of the list"><button id="first" type="button" disabled>First</button><button id="next" type="button" disabled>Next</button></nav>
</section>
</main>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;

/** Nothing runs, loads or frames but what is in the document itself, which its hashes say. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `script-src ${sourceOf(PAGE_SCRIPT)}`,
    `style-src ${sourceOf(PAGE_STYLE)}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};

function sourceOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
