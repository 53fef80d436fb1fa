/**
 * The pages as texts, for programs that read instead of people: each as Markdown beside its page, `llms.txt` with a line for each, in the form
 * of https://llmstxt.org, and `llms-full.txt` with all in one.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { resolveLink } from './links.mjs';
import { interfacePages, pages, readPage, titleOf } from './pages.mjs';

const SKILL = 'docs/skills/settee/SKILL.md';

/** Where the texts are: those of all pages, and of the page for agents, which is no page of the site. */
const texts = { ...pages, [SKILL]: SKILL.slice('docs/'.length) };

export function addTexts(folder) {
  const write = (address, text) => {
    const file = join(folder, address);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  for (const path of Object.keys(texts)) write(texts[path], textOf(path));
  const whole = toWhole();
  write('llms.txt', toIndex(readPage('README.md'), readPage('docs/README.md'), whole.length));
  write('llms-full.txt', whole);
}

/** The Markdown of a page. Links lead to other texts, and to files of the repository as the site has them. */
export function textOf(path) {
  const from = dirname(texts[path]);
  return readPage(path).replace(/\]\(([^)\s]+)\)/g, (whole, link) => {
    const target = posix.normalize(posix.join(dirname(path), link.replace(/#.*/, '')));
    const [anchor = ''] = /#.*/.exec(link) ?? [];
    if (target in texts && !link.startsWith('#')) return `](${posix.relative(from, texts[target])}${anchor})`;
    const address = resolveLink(link, path);
    return address === undefined ? whole : `](${posix.relative(from, address.slice(1))})`;
  });
}

/** The parts of `docs/README.md`; what one needs only to change Settee is optional. */
export function toIndex(readme, contents, wholeLength) {
  const summary = /^\*\*(.+?)\*\*$/ms.exec(readme)?.[1].replaceAll('\n', ' ') ?? '';
  const [, ...parts] = contents.split(/^\*\*(.+)\*\*$/m);
  const sections = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const lines = linesOf(parts[at + 1]);
    if (lines.length > 0) sections.push(`## ${at === 0 ? 'Docs' : 'Optional'}\n\n${lines.join('\n')}`);
  }
  const size = wholeLength === undefined ? '' : `, ${Math.round(wholeLength / 1000)} kB`;
  const all = `What to type, on one page: [SKILL.md](skills/settee/SKILL.md). All pages in one file${size}: [llms-full.txt](llms-full.txt).`;
  return `${[`# Settee`, `> ${summary}`, all, ...sections].join('\n\n')}\n`;
}

/** A line for each link of a list, with what the list says of it. */
function linesOf(list) {
  return list
    .split(/^- /m)
    .slice(1)
    .flatMap((item) => {
      const links = [...item.replaceAll(/\n\s*/g, ' ').matchAll(/\[([^\]]+)\]\(([^)#\s]+)[^)]*\)(?:: ([^[\n]+))?/g)];
      return links.flatMap(([, text, link, says]) => {
        const path = posix.normalize(posix.join('docs', link));
        if (!(path in texts)) return [];
        const line = `- [${text}](${texts[path]})${says === undefined || links.length > 1 ? '' : `: ${says.trim()}`}`;
        return path === 'docs/http/README.md' ? [line, ...ofInterface()] : [line];
      });
    });
}

function ofInterface() {
  return interfacePages()
    .slice(1)
    .map((path) => `- [HTTP: ${titleOf(path)}](${texts[path]})`);
}

/** The pages in the order of the index, then those that it does not name; each begins with where it is. */
function toWhole() {
  const index = toIndex(readPage('README.md'), readPage('docs/README.md'));
  const byAddress = new Map(Object.entries(texts).map(([path, address]) => [address, path]));
  const named = [...index.matchAll(/\]\(([^)]+)\)/g)].map(([, address]) => byAddress.get(address));
  const order = [...new Set(['README.md', ...named.filter((path) => path !== undefined), ...Object.keys(texts)])];
  return order.map((path) => `<!-- ${texts[path]}: ${titleOf(path)} -->\n\n${textOf(path).trim()}\n`).join('\n\n');
}
