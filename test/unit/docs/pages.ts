import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const repository = join(import.meta.dirname, '..', '..', '..');

/** What an agent that writes an app reads: https://agentskills.io. */
export const SKILL = 'docs/skills/settee/SKILL.md';

/** A page of the documentation. */
export interface Page {
  /** From the repository's root, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** `README.md`, the changelog, all pages in `docs/` and its folders, and the map of the source. */
export function readPages(): Page[] {
  const paths = ['docs', 'docs/recipes'].flatMap(namesOfPages);
  return [...['README.md', 'CHANGELOG.md', ...paths, SKILL, 'src/README.md'].map(readPage), ...readInterface()];
}

/** The pages of `docs/http/`, in the order of their index, which is the first one. */
export function readInterface(): Page[] {
  const folder = 'docs/http';
  const index = readPage(`${folder}/README.md`);
  const listed = linksOf(index.text).map((target) => `${folder}/${target.replace(/#.*/, '')}`);
  const names = namesOfPages(folder);
  const ordered = [...new Set(listed)].filter((path) => names.includes(path));
  const others = names.filter((path) => path !== index.path && !ordered.includes(path));
  return [index, ...[...ordered, ...others].map(readPage)];
}

/** Of a folder, from the repository's root. */
export function namesOfPages(folder: string): string[] {
  const names = readdirSync(join(repository, folder)).filter((name) => name.endsWith('.md'));
  return names.sort().map((name) => `${folder}/${name}`);
}

export function readPage(path: string): Page {
  return { path, text: readFileSync(join(repository, path), 'utf8') };
}

/** What can be linked to on a page: its headings as GitHub names them, and ids that the page sets by itself. */
export function anchorsOf(markdown: string): ReadonlySet<string> {
  const text = withoutBlocks(markdown);
  const timesSeen = new Map<string, number>();
  const headings = [...text.matchAll(/^#{1,6} +(.+?)(?: +#+)?$/gm)].map(([, title = '']) => {
    const slug = slugOf(title);
    const times = timesSeen.get(slug) ?? 0;
    timesSeen.set(slug, times + 1);
    return times === 0 ? slug : `${slug}-${times}`;
  });
  const ids = [...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = '']) => id);
  return new Set([...headings, ...ids]);
}

/** GitHub keeps letters, digits, hyphens and underscores of what a heading shows, in lower case, and makes spaces hyphens. */
function slugOf(title: string): string {
  return title
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** The targets of all links and images. */
export function linksOf(markdown: string): string[] {
  const text = withoutBlocks(markdown).replace(/(`+)[^`].*?\1/g, '');
  const inline = [...text.matchAll(/\]\(<?([^)\s>]+)>?(?: +"[^"]*")?\)/g)];
  const definitions = [...text.matchAll(/^\[[^\]]+\]: *<?([^\s>]+)>?/gm)];
  const elements = [...text.matchAll(/<(?:a|img|source)\b[^>]*? (?:href|src|srcset)="([^"]+)"/g)];
  return [...inline, ...definitions, ...elements].map(([, target = '']) => target);
}

/** The samples in blocks of a language, such as `ts`. */
export function samplesOf(markdown: string, language: string): string[] {
  const blocks = markdown.matchAll(/^```(\w*)\n(.*?)^```$/gms);
  return [...blocks].filter(([, name]) => name === language).map(([, , sample = '']) => sample);
}

/** The cells of all tables whose first column has this title, without the title. */
export function rowsOf(markdown: string, title: string): string[][] {
  const tables = [...markdown.matchAll(/^\|.*\|\n\|[-:| ]+\|\n(?:\|.*\|\n?)*/gm)].map(([table]) =>
    table.trim().split('\n'),
  );
  return tables.filter(([head = '']) => cellsOf(head)[0] === title).flatMap((lines) => lines.slice(2).map(cellsOf));
}

function cellsOf(line: string): string[] {
  return line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

/** What stands in backquotes in a cell. */
export function namesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

function withoutBlocks(markdown: string): string {
  return markdown.replace(/^(```|~~~).*?^\1$/gms, '');
}
