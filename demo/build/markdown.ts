/** The Markdown of this repository's pages as HTML: headings, paragraphs, lists, tables, code, pictures and links. Nothing more is used there. */

/** Where a link or a picture leads on the page that is made; undefined: nowhere, then only its text is shown. */
export type Resolve = (target: string) => string | undefined;

export function toHtml(markdown: string, resolve: Resolve): string {
  return blocks(markdown.split('\n'), resolve).join('\n');
}

/** The text of the first heading. */
export function titleOf(markdown: string): string {
  const [, title = ''] = /^# (.+)$/m.exec(markdown) ?? [];
  return title.replace(/`/g, '');
}

function blocks(lines: readonly string[], resolve: Resolve): string[] {
  const slugs = new Map<string, number>();
  const made: string[] = [];
  let rest = lines;
  while (rest.length > 0) {
    const [line = ''] = rest;
    const kind = KINDS.find(({ begins }) => begins.test(line));
    if (line.trim() === '') rest = rest.slice(1);
    else if (kind) {
      const [html, taken] = kind.make(rest, resolve, slugs);
      made.push(html);
      rest = rest.slice(taken);
    } else {
      const taken = countWhile(rest, (text) => text.trim() !== '' && !KINDS.some(({ begins }) => begins.test(text)));
      made.push(`<p>${inline(rest.slice(0, taken).join('\n'), resolve)}</p>`);
      rest = rest.slice(taken);
    }
  }
  return made;
}

interface Kind {
  readonly begins: RegExp;
  /** The HTML of the block that begins with the first line, and how many lines it has. */
  make(lines: readonly string[], resolve: Resolve, slugs: Map<string, number>): readonly [html: string, taken: number];
}

const KINDS: readonly Kind[] = [
  { begins: /^```/, make: code },
  { begins: /^#{1,6} /, make: heading },
  { begins: /^\|/, make: table },
  { begins: /^(-|\d+\.) /, make: list },
  { begins: /^<(picture|a id=|p align|img)/, make: asItIs },
];

function code(lines: readonly string[]): readonly [string, number] {
  const length = countWhile(lines.slice(1), (line) => !line.startsWith('```'));
  return [`<pre><code>${escaped(lines.slice(1, length + 1).join('\n'))}</code></pre>`, length + 2];
}

function heading(
  [line = '']: readonly string[],
  resolve: Resolve,
  slugs: Map<string, number>,
): readonly [string, number] {
  const [, marks = '', text = ''] = /^(#+) +(.+?)(?: +#+)?$/.exec(line) ?? [];
  const slug = slugOf(text);
  const times = slugs.get(slug) ?? 0;
  slugs.set(slug, times + 1);
  const id = times === 0 ? slug : `${slug}-${times}`;
  return [`<h${marks.length} id="${id}">${inline(text, resolve)}</h${marks.length}>`, 1];
}

/** As GitHub makes the anchors of headings. */
function slugOf(title: string): string {
  return title
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
}

function table(lines: readonly string[], resolve: Resolve): readonly [string, number] {
  const taken = countWhile(lines, (line) => line.startsWith('|'));
  const [head = '', , ...body] = lines.slice(0, taken);
  const row = (line: string, tag: string) =>
    `<tr>${cellsOf(line)
      .map((cell) => `<${tag}>${inline(cell, resolve)}</${tag}>`)
      .join('')}</tr>`;
  const rows = body.map((line) => row(line, 'td')).join('\n');
  return [`<div class="frame"><table><thead>${row(head, 'th')}</thead><tbody>${rows}</tbody></table></div>`, taken];
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/** What is indented below an item belongs to it. */
function list(lines: readonly string[], resolve: Resolve): readonly [string, number] {
  const [first = ''] = lines;
  const marker = first.startsWith('-') ? /^- / : /^\d+\. /;
  const items: string[][] = [];
  let taken = 0;
  for (const line of lines) {
    const next = lines.slice(taken + 1).find((later) => later.trim() !== '');
    if (marker.test(line)) items.push([line.replace(marker, '')]);
    else if (
      line.trim() === '' ? next === undefined || !(/^ {2}/.test(next) || marker.test(next)) : !/^ {2}/.test(line)
    )
      break;
    else items.at(-1)?.push(line.replace(/^ {2,3}/, ''));
    taken++;
  }
  const tag = first.startsWith('-') ? 'ul' : 'ol';
  const made = items.map((item) => `<li>${unwrapped(blocks(item, resolve))}</li>`);
  return [`<${tag}>${made.join('\n')}</${tag}>`, taken];
}

/** An item with one paragraph has only its text. */
function unwrapped(made: readonly string[]): string {
  const [first = '', ...others] = made;
  return [first.replace(/^<p>(.*)<\/p>$/s, '$1'), ...others].join('\n');
}

function asItIs(lines: readonly string[], resolve: Resolve): readonly [string, number] {
  const taken = countWhile(lines, (line) => line.trim() !== '');
  const html = lines.slice(0, taken).join('\n');
  const resolved = html.replace(
    /\b(src|srcset|href)="([^"]+)"/g,
    (_all, name, target) => `${name}="${resolve(target) ?? '#'}"`,
  );
  return [resolved, taken];
}

function inline(text: string, resolve: Resolve): string {
  // What is made already takes no part in what follows.
  const made: string[] = [];
  const keep = (html: string) => `\0${made.push(html) - 1}\0`;
  const restore = (html: string): string =>
    html.replace(/\0(\d+)\0/g, (_all, index) => restore(made[Number(index)] ?? ''));
  const marked = text
    .replace(/(`+) ?(.+?) ?\1(?!`)/gs, (_all, _ticks, content) => keep(`<code>${escaped(content)}</code>`))
    .replace(/<(https?:[^>\s]+)>/g, (_all, url) => keep(`<a href="${escaped(url)}">${escaped(url)}</a>`))
    .replace(/!\[([^\]]*)\]\(([^)\s]+)\)/g, (_all, alt, target) => {
      const src = resolve(target);
      return src === undefined ? escaped(alt) : keep(`<img src="${escaped(src)}" alt="${escaped(alt)}">`);
    });
  const linked = escaped(marked).replace(/\[([^\]]+)\]\(([^)\s]+)\)/g, (_all, content, target) => {
    const href = resolve(target);
    return href === undefined ? content : `<a href="${href}">${content}</a>`;
  });
  return restore(
    linked.replace(/\*\*(.+?)\*\*/gs, '<strong>$1</strong>').replace(/(^|[^*\w])\*([^*\s][^*]*)\*/g, '$1<em>$2</em>'),
  );
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function countWhile(lines: readonly string[], belongs: (line: string) => boolean): number {
  const end = lines.findIndex((line) => !belongs(line));
  return end < 0 ? lines.length : end;
}
