import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES, errorDocumentation, type ErrorCode } from '../../src/contracts/error-codes';
import { packageRoot } from '../../src/package-root';

const document = readFileSync(join(packageRoot(), 'docs', 'errors.md'), 'utf8');

/** The sections of the document: what stands under each third-level heading. */
const sections = new Map(
  document
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const [heading = '', ...rest] = section.split('\n');
      return [heading, rest.join('\n')] as const;
    }),
);

describe('docs/errors.md', () => {
  test('describes every code of the register once, and no other', () => {
    expect(document.match(/^### /gm)).toHaveLength(sections.size);
    expect([...sections.keys()].toSorted()).toEqual(Object.keys(ERROR_CODES).toSorted());
  });

  test.each(Object.entries(ERROR_CODES))(
    'says of %s its status, its meaning and what to do',
    (code, { status, title, retry }) => {
      const section = sections.get(code) ?? '';
      expect(section).toContain(`\n**${status}** · ${title} · retry: ${retry}\n`);
      expect(section).toMatch(/\nWhat to do: \S/);
    },
  );

  test.each(Object.keys(ERROR_CODES) as ErrorCode[])('is where the type of %s points to', (code) => {
    const [page, anchor] = errorDocumentation(code).split('#');
    expect(page).toBe('/docs/errors');
    // How Markdown renderers make an anchor of a heading: lower case, underscores kept.
    expect([...sections.keys()].map((heading) => heading.toLowerCase())).toContain(anchor);
  });
});
