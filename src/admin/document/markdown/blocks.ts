/** A small part of Markdown: headings, paragraphs, lists, quotes, code and rules. */
import { type Inline, parseInlines } from './inlines.ts';

export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly content: readonly Inline[] }
  | { readonly kind: 'paragraph'; readonly content: readonly Inline[] }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  | { readonly kind: 'list'; readonly start: number | undefined; readonly items: readonly (readonly Block[])[] }
  | { readonly kind: 'rule' };

/** Quotes and lists around a block; those inside them are shown as they are written. */
const MAX_DEPTH = 12;

const BLANK = /^\s*$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3}(?:[-*+]|(\d{1,9})[.)])[ \t]+)(.*)$/;

export function parseMarkdown(text: string): readonly Block[] {
  return new BlockParser(text.replaceAll('\t', '    ').split(/\r\n|\r|\n/), 0).parse();
}

/** Whether a text seems to be meant as Markdown. */
export function looksLikeMarkdown(text: string): boolean {
  return SIGNS.test(text.slice(0, 20_000));
}

const SIGNS =
  /^#{1,6} \S|^ {0,3}[-*+] \S[^\n]*\n {0,3}[-*+] \S|^ {0,3}1[.)] \S[^\n]*\n {0,3}2[.)] \S|^```|^> \S|\*\*\S[^*\n]*\*\*|\[[^\]\n]+\]\([^)\s]+\)/m;

class BlockParser {
  readonly #lines: readonly string[];
  readonly #level: number;
  #at = 0;

  constructor(lines: readonly string[], level: number) {
    this.#lines = lines;
    this.#level = level;
  }

  parse(): readonly Block[] {
    const blocks: Block[] = [];
    while (this.#at < this.#lines.length) {
      if (BLANK.test(this.#line())) this.#at += 1;
      else blocks.push(this.#block());
    }
    return blocks;
  }

  #line(): string {
    return this.#lines[this.#at] ?? '';
  }

  #block(): Block {
    const line = this.#line();
    const [, marks = '', title = ''] = HEADING.exec(line) ?? [];
    if (marks !== '') {
      this.#at += 1;
      return {
        kind: 'heading',
        level: marks.length,
        content: parseInlines(title.replace(/[ \t]+#+[ \t]*$/, '').trim()),
      };
    }
    if (RULE.test(line)) {
      this.#at += 1;
      return { kind: 'rule' };
    }
    const [, fence] = FENCE.exec(line) ?? [];
    if (fence !== undefined) return this.#code(fence);
    if (this.#level < MAX_DEPTH && QUOTE.test(line)) return this.#quote();
    if (this.#level < MAX_DEPTH && ITEM.test(line)) return this.#list();
    return this.#paragraph();
  }

  #code(fence: string): Block {
    const lines: string[] = [];
    for (this.#at += 1; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#line();
      if (line.trim().startsWith(fence) && line.trim().replaceAll(fence[0] ?? '', '') === '') {
        this.#at += 1;
        break;
      }
      lines.push(line);
    }
    return { kind: 'code', text: lines.join('\n') };
  }

  #quote(): Block {
    const lines: string[] = [];
    for (; this.#at < this.#lines.length && QUOTE.test(this.#line()); this.#at += 1)
      lines.push(this.#line().replace(QUOTE, ''));
    return { kind: 'quote', blocks: new BlockParser(lines, this.#level + 1).parse() };
  }

  #list(): Block {
    const [, , number] = ITEM.exec(this.#line()) ?? [];
    const items: (readonly Block[])[] = [];
    while (this.#at < this.#lines.length) {
      const item = ITEM.exec(this.#line());
      // A list of numbers and one of dots are two lists.
      if (item === null || RULE.test(this.#line()) || (item[2] === undefined) !== (number === undefined)) break;
      items.push(new BlockParser(this.#item(item[1] ?? '', item[3] ?? ''), this.#level + 1).parse());
    }
    return { kind: 'list', start: number === undefined ? undefined : Number(number), items };
  }

  /** The lines of an item, without its mark: those that are indented below it, and those that go on with its paragraph. */
  #item(mark: string, first: string): readonly string[] {
    const lines = [first];
    const indentation = ' '.repeat(Math.min(mark.length, 5));
    for (this.#at += 1; this.#at < this.#lines.length; this.#at += 1) {
      const line = this.#line();
      const isInside = line.startsWith(indentation) || (line.startsWith('  ') && !BLANK.test(line));
      const isBlankInside = BLANK.test(line) && (this.#lines[this.#at + 1] ?? '').startsWith('  ');
      const goesOn = !BLANK.test(lines.at(-1) ?? '') && !BLANK.test(line) && !beginsBlock(line);
      if (!isInside && !isBlankInside && !goesOn) break;
      lines.push(line.startsWith(indentation) ? line.slice(indentation.length) : line.trimStart());
    }
    // Blank lines between items.
    while (this.#at < this.#lines.length && BLANK.test(this.#line())) this.#at += 1;
    return lines;
  }

  #paragraph(): Block {
    const lines = [this.#line()];
    for (this.#at += 1; this.#at < this.#lines.length; this.#at += 1) {
      if (BLANK.test(this.#line()) || beginsBlock(this.#line())) break;
      lines.push(this.#line());
    }
    return { kind: 'paragraph', content: parseInlines(lines.map((line) => line.trimStart()).join('\n')) };
  }
}

function beginsBlock(line: string): boolean {
  return [HEADING, RULE, FENCE, QUOTE, ITEM].some((pattern) => pattern.test(line));
}
