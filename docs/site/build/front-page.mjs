/** The first page of the site, made of README.md and of the page that says when to take something else. */

/** A plugin of Vite. It runs before VitePress reads the page. */
export function frontPage(readPage) {
  return {
    name: 'front-page',
    enforce: 'pre',
    transform(_text, id) {
      return /[\\/]README\.md$/.test(id) && !/[\\/](docs|src)[\\/]/.test(id)
        ? toFrontPage(readPage('README.md'), readPage('docs/compare.md'))
        : undefined;
    },
  };
}

const SETTINGS = '---\naside: false\npageClass: front\ntitleTemplate: a document database behind fetch()\n---\n';

/** On one screen what it is, for whom, what one types and what comes back; then when not to take it; then the rest. */
export function toFrontPage(readme, compare) {
  const [top, ...sections] = readme.split(/^(?=## )/m);
  const [title, promise, summary, picture, lead, code, below] = partsOf(top);
  const purpose = sections.find((one) => one.startsWith('## What it is for\n'));
  if (below === undefined || !code.startsWith('```ts') || purpose === undefined)
    throw new Error('README.md is not as expected');
  const [users] = /^.*?\.(?=\s|$)/s.exec(partsOf(purpose)[1]) ?? [];
  const others = sections.filter((one) => one !== purpose).join('');
  const [heading, ...reasons] = purpose.split('\n\n');
  return [
    SETTINGS + title,
    promise,
    `${summary} It is for ${users.charAt(0).toLowerCase()}${users.slice(1)}`,
    lead,
    code,
    below,
    `## When to take something else\n\n${firstColumns(compare)}`,
    'Figures and a comparison of what each can do: [When to take something else](docs/compare.md).',
    picture,
    heading,
    ...reasons.slice(1),
    others,
  ].join('\n\n');
}

/** Blocks between empty lines; the lines of a block of code stay together. */
function partsOf(text) {
  return text
    .split(/(^```.*?^```$)|\n{2,}/ms)
    .map((part) => part?.trim() ?? '')
    .filter((part) => part !== '');
}

/** What one wants and what to take, of the first table. */
function firstColumns(compare) {
  const [table = ''] = /^\|.*\|(\n\|.*\|)*$/m.exec(compare) ?? [];
  const rows = table.split('\n').map(
    (row) =>
      `${row
        .split(/(?<!\\)\|/)
        .slice(0, 3)
        .join('|')}|`,
  );
  return rows.join('\n').replace(/\]\((?![a-z]+:)/g, '](docs/');
}
