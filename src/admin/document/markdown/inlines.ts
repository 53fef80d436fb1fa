/** What is inside a line of Markdown: emphasis, code, links and images. HTML is text like any other. */

export type Inline =
  | { readonly kind: 'text' | 'code'; readonly text: string }
  | { readonly kind: 'break' }
  | { readonly kind: 'strong' | 'emphasis'; readonly content: readonly Inline[] }
  | { readonly kind: 'link'; readonly target: string; readonly content: readonly Inline[] }
  | { readonly kind: 'image'; readonly target: string; readonly alt: string };

/** Characters in which the end of a mark is looked for: without a bound, the time would rise with the square of the length. */
const REACH = 1_000;
/** Marks and labels around a text; those inside them are shown as they are written. */
const MAX_DEPTH = 8;

/** A label may contain images and brackets, but no links. */
const LABEL = /(?:[^[\]\\!]|!\[[^[\]]*\]\([^\s()]*\)|!|\\.|\[[^[\]]*\](?!\())*/;
const ADDRESS = /[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*/;
const LINK = new RegExp(`!?\\[(${LABEL.source})\\]\\(\\s*(${ADDRESS.source})(?:\\s+"[^"]*")?\\s*\\)`, 'y');
const ANGLE_LINK = /<(https?:\/\/[^\s<>]+)>/iy;
const BARE_LINK = /https?:\/\/[^\s<>]*[^\s<>.,:;!?'"()[\]*_]/iy;
const ESCAPED = /\\([!-/:-@[-`{-~])/y;
const BREAK = /(?: {2,}|\\)\n/y;
const CODE = /(`+)(?!`)/y;
const MARK = /\*\*|__|\*|_/y;
/** Where something other than text may begin. */
const PLAIN = /[^\\`*_![<h \n]+|[\s\S]/y;

export function parseInlines(text: string, level = 0): readonly Inline[] {
  if (level > MAX_DEPTH) return [{ kind: 'text', text }];
  const found: Inline[] = [];
  let at = 0;
  while (at < text.length) {
    const step = special(text, at, level) ?? plain(text, at);
    const last = found.at(-1);
    if (step.inline.kind === 'text' && last?.kind === 'text')
      found[found.length - 1] = { kind: 'text', text: last.text + step.inline.text };
    else found.push(step.inline);
    at = step.end;
  }
  return found;
}

interface Step {
  readonly inline: Inline;
  readonly end: number;
}

function plain(text: string, at: number): Step {
  const [found = ''] = match(PLAIN, text, at) ?? [];
  return { inline: { kind: 'text', text: found }, end: at + found.length };
}

function special(text: string, at: number, level: number): Step | undefined {
  switch (text[at]) {
    case '\\':
      return escaped(text, at) ?? lineBreak(text, at);
    case ' ':
      return lineBreak(text, at);
    case '`':
      return code(text, at);
    case '!':
    case '[':
      return link(text, at, level);
    case '<':
      return webLink(match(ANGLE_LINK, text, at), at);
    case 'h':
      return /\w/.test(text[at - 1] ?? '') ? undefined : webLink(match(BARE_LINK, text, at), at);
    case '*':
    case '_':
      return emphasis(text, at, level);
    default:
      return undefined;
  }
}

function escaped(text: string, at: number): Step | undefined {
  const [all, character] = match(ESCAPED, text, at) ?? [];
  return all === undefined || character === undefined
    ? undefined
    : { inline: { kind: 'text', text: character }, end: at + all.length };
}

function lineBreak(text: string, at: number): Step | undefined {
  const [all] = match(BREAK, text, at) ?? [];
  return all === undefined ? undefined : { inline: { kind: 'break' }, end: at + all.length };
}

function code(text: string, at: number): Step | undefined {
  const [, fence] = match(CODE, text, at) ?? [];
  if (fence === undefined) return undefined;
  const from = at + fence.length;
  const rest = text.slice(from, from + REACH);
  const end = new RegExp(`(?<!\`)${fence}(?!\`)`).exec(rest)?.index;
  // The run is text as a whole: a part of it must not become an opening mark.
  if (end === undefined) return { inline: { kind: 'text', text: fence }, end: from };
  return { inline: { kind: 'code', text: rest.slice(0, end).replaceAll('\n', ' ') }, end: from + end + fence.length };
}

function link(text: string, at: number, level: number): Step | undefined {
  const [all, label = '', target = ''] = match(LINK, text.slice(at, at + REACH), 0) ?? [];
  if (all === undefined) return undefined;
  const end = at + all.length;
  return text[at] === '!'
    ? { inline: { kind: 'image', target, alt: label }, end }
    : { inline: { kind: 'link', target, content: parseInlines(label, level + 1).flatMap(withoutLinks) }, end };
}

/** There are no links in links. */
function withoutLinks(inline: Inline): readonly Inline[] {
  return inline.kind === 'link' ? inline.content : [inline];
}

function webLink(found: RegExpExecArray | null, at: number): Step | undefined {
  if (found === null) return undefined;
  const target = found[1] ?? found[0];
  return { inline: { kind: 'link', target, content: [{ kind: 'text', text: target }] }, end: at + found[0].length };
}

function emphasis(text: string, at: number, level: number): Step | undefined {
  const [mark = ''] = match(MARK, text, at) ?? [];
  const from = at + mark.length;
  if (/\s|^$/.test(text[from] ?? '')) return undefined;
  if (mark.startsWith('_') && /\w/.test(text[at - 1] ?? '')) return undefined;
  const end = endOf(text, mark, from);
  if (end === undefined) return undefined;
  const content = parseInlines(text.slice(from, end), level + 1);
  return { inline: { kind: mark.length === 2 ? 'strong' : 'emphasis', content }, end: end + mark.length };
}

/** Where the closing mark is. */
function endOf(text: string, mark: string, from: number): number | undefined {
  const rest = text.slice(from, from + REACH);
  for (let at = rest.indexOf(mark, 1); at > 0; at = rest.indexOf(mark, at + 1)) {
    const [before = '', after = ''] = [rest[at - 1], rest[at + mark.length]];
    if (/[\s\\]/.test(before)) continue;
    if (mark.startsWith('_') && /\w/.test(after)) continue;
    // A single mark does not end at one half of a double one.
    if (mark.length === 1 && after === mark) at += 1;
    else return from + at;
  }
  return undefined;
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
