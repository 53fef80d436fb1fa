/** Which Markdown files of the repository are pages of the site, where each is, and the order of the navigation. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../../..', import.meta.url));

/** Files outside `docs/`, and those whose place in the site differs from their place in `docs/`. Paths from the repository's root. */
const placed = {
  'README.md': 'index.md',
  'docs/README.md': 'contents.md',
  'docs/http/README.md': 'http/index.md',
  'src/README.md': 'source.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'first-change.md',
  'SECURITY.md': 'security.md',
};

/** From the path of a Markdown file in the repository to that of its page in the site, which ends in `.md`, too. */
export const pages = Object.fromEntries([
  ...Object.entries(placed),
  ...['docs', 'docs/http', 'docs/recipes']
    .flatMap((folder) => readdirSync(join(repository, folder)).map((name) => `${folder}/${name}`))
    .filter((path) => path.endsWith('.md') && !(path in placed))
    .map((path) => [path, path.slice('docs/'.length)]),
]);

/** Such as `http/find.html` for `docs/http/find.md`. */
export function addressOf(path) {
  return pages[path]?.replace(/\.md$/, '.html');
}

/** Markdown files that are no pages, from the repository's root. */
export function otherMarkdown() {
  const folders = readdirSync(repository, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const files = folders
    .filter(({ name }) => !['dist', 'node_modules'].includes(name) && !name.startsWith('.'))
    .flatMap(({ name }) => readdirSync(join(repository, name), { recursive: true }).map((path) => `${name}/${path}`))
    .map((path) => path.replaceAll('\\', '/'));
  return files.filter((path) => path.endsWith('.md') && !path.includes('node_modules/') && !(path in pages));
}

export function readPage(path) {
  return readFileSync(join(repository, path), 'utf8');
}

/** The pages of the interface in the order of their index, which is the order in which their examples run on one server. */
export function interfacePages() {
  const folder = 'docs/http';
  const listed = linksIn(readPage(`${folder}/README.md`), `${folder}/README.md`).map(({ path }) => path);
  const others = Object.keys(pages).filter((path) => path.startsWith(`${folder}/`));
  return [...new Set([`${folder}/README.md`, ...listed.filter((path) => others.includes(path)), ...others.sort()])];
}

/**
 * The navigation by the folder of the page: in the folder of a group, that group is open. It is made from `docs/README.md`: each bold line begins
 * a part, each item of a list is a link, and an item with several links is a group. The pages of the interface are below their index.
 */
export function sidebar() {
  return { '/http/': partsFor('http/'), '/recipes/': partsFor('recipes/'), '/': partsFor('') };
}

function partsFor(folder) {
  const [, ...texts] = readPage('docs/README.md').split(/^\*\*(.+)\*\*$/m);
  const parts = [];
  for (let at = 0; at + 1 < texts.length; at += 2) {
    const items = itemsIn(texts[at + 1]).flatMap((item) => toEntry(item, folder));
    if (items.length > 0) parts.push({ text: texts[at], items });
  }
  parts[0].items.push({ text: 'All pages', link: linkTo('docs/README.md') });
  return parts;
}

function itemsIn(text) {
  return text
    .split(/^- /m)
    .slice(1)
    .map((item) => item.replace(/\n(?! ).*/s, ''));
}

function toEntry(item, folder) {
  const links = linksIn(item, 'docs/README.md').filter(({ path }) => path in pages);
  const [first] = links;
  if (first === undefined) return [];
  if (links.length > 1) {
    const group = { text: item.split(/[,:[]/, 1)[0].trim(), link: linkTo(first.path) };
    return [{ ...group, collapsed: folder !== 'recipes/', items: links.map(toLink) }];
  }
  if (first.path !== 'docs/http/README.md') return [toLink(first)];
  const [, ...below] = interfacePages();
  const items = below.map((path) => toLink({ path, text: titleOf(path) }));
  return [{ ...toLink(first), collapsed: folder !== 'http/', items }];
}

function toLink({ text, path }) {
  return { text: text.charAt(0).toUpperCase() + text.slice(1), link: linkTo(path) };
}

function linkTo(path) {
  return `/${addressOf(path).replace(/(^|\/)index\.html$/, '$1')}`;
}

export function titleOf(path) {
  return /^# (.+)$/m.exec(readPage(path))?.[1].replaceAll('`', '') ?? path;
}

/** The links of a Markdown text to files of the repository: what each shows, and the path from the repository's root. */
export function linksIn(markdown, from) {
  return [...markdown.matchAll(/\[([^\]]+)\]\(([^)#\s]+)[^)]*\)/g)]
    .filter(([, , target]) => !/^[a-z]+:/i.test(target))
    .map(([, text, target]) => ({ text, path: posix.normalize(posix.join(dirname(from), target)) }));
}
