/**
 * The tokens of a function's source, with the brackets that enclose each. Returns undefined if the text is
 * ambiguous or malformed, so callers must be able to do without them.
 */

export interface Token {
  /** `text`: strings, templates, regular expressions, numbers. `word`: names and keywords. Else `mark`. */
  readonly kind: 'word' | 'text' | 'mark';
  readonly text: string;
  /** Where it begins in the source. */
  readonly start: number;
  /** The place, among the tokens, of the bracket that encloses it; -1 outside of all. */
  readonly within: number;
}

const GAP = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /\.?\d[\w.]*/y;
const STRING = /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y;
const PATTERN = /\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
/** What a template has up to its end or to the next expression in it; begins after "`" or "}". */
const TEMPLATE = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)/y;
const MARK = /=>|\?\.|\+\+|--|[^\s\w$'"`\\#@]/uy;

const CLOSERS: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };
/** After these words a slash begins a regular expression. */
const OPERATOR_WORDS = /^(?:return|typeof|case|in|of|do|else|void|delete|throw|new|instanceof)$/;
/** A bracket after these words belongs to a statement's head, after which a regular expression may stand. */
const HEAD_WORDS = /^(?:if|while|for|with)$/;

export function tokensOf(source: string): readonly Token[] | undefined {
  const reader = new TokenReader(source);
  return reader.read() ? reader.tokens : undefined;
}

class TokenReader {
  readonly tokens: Token[] = [];
  readonly #source: string;
  /** Places of the brackets that are open. */
  readonly #open: number[] = [];
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  read(): boolean {
    for (;;) {
      this.#match(GAP);
      if (this.#at === this.#source.length) return this.#open.length === 0;
      if (!this.#readOne()) return false;
    }
  }

  #readOne(): boolean {
    const start = this.#at;
    const character = this.#source.charAt(start);
    if (character === '`') return this.#readTemplate(start + 1);
    if (character === '/' && this.#mayBePattern) return this.#add('text', start, this.#match(PATTERN));
    if (this.#match(WORD) !== undefined) return this.#add('word', start, this.#source.slice(start, this.#at));
    const text = this.#match(STRING) ?? this.#match(NUMBER);
    return text === undefined ? this.#readMark(start) : this.#add('text', start, text);
  }

  #readMark(start: number): boolean {
    const mark = this.#match(MARK);
    if (mark === undefined) return false;
    const opener = CLOSERS[mark];
    if (opener === undefined) {
      const isAdded = this.#add('mark', start, mark);
      if (mark === '(' || mark === '[' || mark === '{') this.#open.push(this.tokens.length - 1);
      return isAdded;
    }
    const place = this.#open.pop();
    const opened = place === undefined ? '' : this.tokens[place]?.text;
    // An expression in a template ends, and the template continues.
    if (mark === '}' && opened === '${') return this.#readTemplate(this.#at);
    return opened === opener && this.#add('mark', start, mark);
  }

  /** Reads the part of a template that begins there: one token, and one for the bracket of the expression after it. */
  #readTemplate(from: number): boolean {
    const start = this.#at;
    this.#at = from;
    const part = this.#match(TEMPLATE);
    if (part === undefined) return false;
    this.#add('text', start, part);
    if (!part.endsWith('${')) return true;
    this.#add('mark', this.#at - 2, '${');
    this.#open.push(this.tokens.length - 1);
    return true;
  }

  /** Returns whether a slash begins a regular expression here, rather than divides. */
  get #mayBePattern(): boolean {
    const last = this.tokens.at(-1);
    if (last === undefined) return true;
    if (last.kind === 'text') return false;
    if (last.kind === 'word') return OPERATOR_WORDS.test(last.text);
    if (last.text === ')') return this.#isStatementHead();
    return !/^(?:\]|\}|\+\+|--)$/.test(last.text);
  }

  #isStatementHead(): boolean {
    const closed = this.tokens.length - 1;
    const opener = openerOf(this.tokens, closed);
    return HEAD_WORDS.test(this.tokens[opener - 1]?.text ?? '');
  }

  #add(kind: Token['kind'], start: number, text: string | undefined): boolean {
    if (text === undefined) return false;
    this.tokens.push({ kind, text, start, within: this.#open.at(-1) ?? -1 });
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#source) ?? [];
    if (found !== undefined) this.#at = pattern.lastIndex;
    return found;
  }
}

/** Returns the place of the bracket that the one at `closer` closes. Both stand in the same bracket. */
export function openerOf(tokens: readonly Token[], closer: number): number {
  const mark = CLOSERS[tokens[closer]?.text ?? ''];
  const within = tokens[closer]?.within;
  for (let place = closer - 1; place >= 0; place--) {
    const token = tokens[place];
    if (token?.within === within && token?.text === mark && token?.kind === 'mark') return place;
  }
  return -1;
}
