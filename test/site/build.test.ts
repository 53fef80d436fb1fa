/** What makes the site from the Markdown files: `docs/site/build`. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { repository } from '../unit/docs/pages.ts';

/** They are plain JavaScript, with packages of the site. */
const load = (name: string) => import(join(repository, 'docs/site/build', `${name}.mjs`));

const { toFetch, toCode } = await load('curl');
const { toRunnable } = await load('script');
const { blocksOf } = await load('runnable');
const { checkLinks } = await load('link-check');
const { makeRelocatable, PLACEHOLDER } = await load('relocatable');
const { resolveLink } = await load('links');
const { toFrontPage } = await load('front-page');
const { addTexts, textOf, toIndex } = await load('texts');

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'settee-site-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

describe('a command of curl as fetch', () => {
  const address = 'http://127.0.0.1:5984';

  test.each([
    [`curl ${address}/`, "await fetch('/db/');"],
    [`curl -X PUT ${address}/atlas`, "await fetch('/db/atlas', { method: 'PUT' });"],
    [`curl -s '${address}/a/_all_docs?startkey=%22D%22' | grep x`, "await fetch('/db/a/_all_docs?startkey=%22D%22');"],
    [`curl -I ${address}/_up`, "await fetch('/db/_up', { method: 'HEAD' });"],
    [
      `curl -X PUT ${address}/a/b -d '{"a": [1]}'`,
      "await fetch('/db/a/b', { method: 'PUT', body: JSON.stringify({ a: [1] }) });",
    ],
    [`curl ${address}/a -d 'x=1'`, "await fetch('/db/a', { method: 'POST', body: 'x=1' });"],
    [`curl -u ana:pw ${address}/a`, "await fetch('/db/a', { headers: { Authorization: 'Basic YW5hOnB3' } });"],
    [`curl -s -r 1-3 ${address}/a`, "await fetch('/db/a', { headers: { Range: 'bytes=1-3' } });"],
  ])('%s', (command, code) => {
    expect(toFetch(command, '/db/')).toBe(code);
  });

  test('keeps JSON that JavaScript would write differently as a text', () => {
    expect(toFetch(`curl -X PUT ${address}/a/n -d '{"z":1.0,"a":12345678901234567890}'`, '/db/')).toBe(
      `await fetch('/db/a/n', { method: 'PUT', body: '{"z":1.0,"a":12345678901234567890}' });`,
    );
  });

  test.each([
    `curl ${address}/a -H 'Origin: https://evil.example'`,
    `curl ${address}/a --data-binary @file`,
    `curl https://elsewhere.example/`,
    'npx settee backup /tmp/backup',
  ])('there is none for %s', (command) => {
    expect(toFetch(command, '/db/')).toBeUndefined();
  });

  test('names what a page can not do, and leaves out what needs it', () => {
    const missing = new Set();
    const block = `$ npx settee import ${address}/cities cities.json --create\n9 written\n$ curl ${address}/_up\nok\n`;
    expect(toCode(block, '/db/', missing)).toBe(
      `// Not in a page: npx settee import ${address}/cities cities.json --create\n\nawait fetch('/db/_up');`,
    );
    expect(toCode(`$ curl ${address}/cities\n{}\n`, '/db/', missing)).toBeUndefined();
  });
});

describe('code that a page runs', () => {
  test('sets its variables without declaring them, and returns the value of its end', () => {
    expect(toRunnable("import { start } from 'settee';\nconst { fetch } = await start();\nf(fetch);\n")).toEqual({
      text: '({ start: start } = await setteeImport("settee"));\n({ fetch } = await start());\nreturn (f(fetch));',
      names: ['start', 'fetch'],
    });
    expect(toRunnable('let a = 1, b;\n')).toEqual({
      text: '(a = 1); (b = undefined); return { a, b };',
      names: ['a', 'b'],
    });
    expect(toRunnable('async function f() {}\nclass C {}\n').names).toEqual(['f', 'C']);
  });

  test('follows live changes without waiting for their end', () => {
    const loop = 'for await (const a of notes.changes({ live: true })) f(a);';
    expect(toRunnable(loop).text).toBe(`await setteeFollow(async (console) => {\n${loop}\n});`);
    const other = 'for await (const a of notes.changes()) f(a);';
    expect(toRunnable(other).text).toBe(other);
  });

  const block = (code: string, language = 'ts') => `\`\`\`${language}\n${code}\n\`\`\`\n\n`;
  const page = block(
    '<!doctype html>\n<meta http-equiv="x" content="y">\n<ul></ul>\n<script src="a.ts"></script>',
    'html',
  );
  const file = block("import { x } from './x';\nexport const unused = x;") + block('export const open = () => 1;');
  const script = block(
    "import { start } from 'settee';\nimport { open } from './open';\nawait start();\ndocument.title = open();",
  );
  const runsOf = (markdown: string) => blocksOf('docs/recipes/a.md', markdown).map(({ run }: { run: unknown }) => run);

  test('of an app has the files that it imports, and a frame with its page', () => {
    expect(runsOf(page + file + script)).toEqual([
      undefined,
      undefined,
      {
        html: expect.stringMatching(/^<!doctype html><html lang="en"><style>.*<\/style>\n<ul><\/ul>\n$/),
        names: ['open', 'start'],
        text: expect.stringMatching(
          /^\(open = \(\) => 1\);.*await setteeImport\("settee"\).*\(document\.title = open\(\)\)/s,
        ),
      },
    ]);
  });

  test.each([
    ['without a page of its own', file + script],
    ['that imports what is not there', page + script],
    ['that imports a file which needs a server', page + block("export const open = 'https://a.example/';") + script],
    ['that needs other packages', page + block("export const open = await import('dexie');") + script],
    ['that starts nothing', page + block("await import.meta;\ndocument.title = 'a';")],
    ['with a service worker', block("import { start } from 'settee';\nawait start({ serviceWorker: '/sw.js' });")],
  ])('is none for an app %s', (_, markdown) => {
    expect(runsOf(markdown).filter((run: unknown) => run !== undefined)).toEqual([]);
  });

  test('must be JavaScript', () => {
    expect(() => toRunnable('const = 1;')).toThrow();
  });
});

describe('links', () => {
  test('between files of the repository lead to pages', () => {
    expect(resolveLink('http/views.md#live-views', 'docs/demo.md')).toBe('/http/views.html#live-views');
    expect(resolveLink('../src/README.md', 'docs/README.md')).toBe('/source.html');
    expect(resolveLink('LICENSE', 'README.md')).toBe('/repository/LICENSE.txt');
    expect(resolveLink('docs/pictures/demo-dark.webp', 'README.md')).toBe('/pictures/demo-dark.webp');
    expect(resolveLink('https://example.org/a.md', 'README.md')).toBeUndefined();
    expect(resolveLink('#here', 'README.md')).toBeUndefined();
  });

  test('that lead nowhere end the build', () => {
    expect(() => resolveLink('nothing.md', 'docs/demo.md')).toThrow(
      'docs/demo.md: the link to nothing.md leads nowhere',
    );
    const page = (link: string) => ({
      'a.html': `<p id="here"><a class="x" href="${link}">x</a>`,
      'b/index.html': '<p id="there">',
    });
    for (const link of ['b/#there', '#here', 'b/index.html', 'https://example.org/'])
      expect(() => checkLinks(folderWith(page(link)))).not.toThrow();
    for (const link of ['b/#here', '#there', 'c.html', '../a.html'])
      expect(() => checkLinks(folderWith(page(link)))).toThrow(`a.html: ${link}`);
  });
});

test('a built site is made to work below any path', () => {
  const folder = folderWith({
    'index.html': `<script>x(new URL("${PLACEHOLDER}",y))</script><body><a href="${PLACEHOLDER}a.html">a</a></body>`,
    'http/a.html': `<script>p("{\\"base\\":\\"${PLACEHOLDER}\\"}")</script><body><img src="${PLACEHOLDER}b.webp"></body>`,
    'assets/a.js': `const a = "${PLACEHOLDER}x", b = \`\${a}${PLACEHOLDER}\`; import('./b.js');`,
  });
  makeRelocatable(folder);
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  expect(read('index.html')).toContain('<script>x(new URL("./",y))</script><body><a href="./a.html">');
  expect(read('http/a.html')).toContain(
    '<script>p(("{\\"base\\":\\""+globalThis.setteeSite+"\\"}"))</script><body><img src="../b.webp">',
  );
  expect(read('assets/a.js')).toBe(
    `const a = (""+globalThis.setteeSite+"x"), b = \`\${a}\${globalThis.setteeSite}\`; import('./b.js');`,
  );
});

test('the first page says what it is, for whom and what to type, then when to take something else', () => {
  const read = (path: string) => readFileSync(join(repository, path), 'utf8');
  const page = toFrontPage(read('README.md'), read('docs/compare.md'));
  const places = [
    '# Settee',
    'It is for web apps',
    '```ts',
    '## When to take something else',
    'PouchDB',
    '<picture>',
    '## Try it',
  ].map((text) => page.indexOf(text));
  expect(places).toEqual([...places].sort((one, other) => one - other));
  expect(Math.min(...places)).toBeGreaterThan(0);
});

describe('the texts for programs that read', () => {
  test('llms.txt has a title, a summary, and a line for each link of the contents', () => {
    const readme = '# Settee\n\n**A database\nfor apps.**\n';
    const contents =
      '# Docs\n\n**To use it**\n\n- [Types](types.md): a type for\n  every shape\n- [Here](nowhere.md): no page\n\n**To change it**\n\n- [Inside](internals.md)\n';
    const [title, summary, all, ...rest] = toIndex(readme, contents).trim().split('\n\n');
    expect([title, summary]).toEqual(['# Settee', '> A database for apps.']);
    expect(all).toContain('](llms-full.txt)');
    expect(rest).toEqual([
      '## Docs',
      '- [Types](types.md): a type for every shape',
      '## Optional',
      '- [Inside](internals.md)',
    ]);
  });

  test('links of a page lead to other texts', () => {
    expect(textOf('docs/skills/settee/SKILL.md')).toContain('[types and the helper](../../types.md)');
    expect(textOf('README.md')).toContain('](first-app.md)');
    expect(textOf('docs/http/README.md')).toContain('[Document ids](documents.md#document-ids)');
  });

  test('are there for each page, and all in one file', () => {
    const folder = folderWith({});
    addTexts(folder);
    const whole = readFileSync(join(folder, 'llms-full.txt'), 'utf8');
    for (const name of ['index.md', 'tutorial.md', 'http/errors.md', 'recipes/react.md', 'skills/settee/SKILL.md']) {
      const text = readFileSync(join(folder, name), 'utf8');
      expect(text).toMatch(/^(---\n|# )/);
      expect(whole).toContain(text.trim());
    }
    const index = readFileSync(join(folder, 'llms.txt'), 'utf8');
    for (const [, address = ''] of index.matchAll(/\]\(([^)]+)\)/g))
      expect(readFileSync(join(folder, address), 'utf8')).not.toBe('');
  });
});
