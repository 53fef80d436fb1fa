import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { parseSync } from 'vite';

/** What the house rules ask of each source file, gathered with the parser of the build. */
export interface SourceFile {
  /** From `src`, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  /** Names that are used but declared nowhere in the file. */
  readonly globals: ReadonlySet<string>;
  /** Uses of what strict code does without, each with its line. */
  readonly lapses: readonly string[];
}

export interface Import {
  /** A path from `src` for files of ours, else the package's name. */
  readonly target: string;
  readonly isOurs: boolean;
  /** Nothing of it is left at run time. */
  readonly isType: boolean;
  /** Loaded when the code gets there. */
  readonly isLazy: boolean;
}

type Node = Readonly<Record<string, unknown>>;

const source = join(import.meta.dirname, '..', '..', '..', 'src');

/** Without the files of the apps that `create-settee` makes: these run elsewhere. */
export function readSources(): SourceFile[] {
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => /\.tsx?$/.test(path) && !path.startsWith('packages/create/templates/'))
    .map((path) => readSource(path));
}

/** The folder of `src` in which a file is. */
export function roomOf(path: string): string {
  return path.split('/', 1)[0] ?? '';
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(source, path), 'utf8');
  return analyse(path, text);
}

export function analyse(path: string, text: string): SourceFile {
  const { program, errors, comments } = parseSync(path, text, {
    lang: path.endsWith('x') ? 'tsx' : 'ts',
    sourceType: 'module',
  });
  if (errors.length > 0) throw new Error(`${path} can't be parsed: ${errors[0]?.message}`);
  const visitor = new Visitor(path, text);
  visitor.visit(program);
  for (const { value, start } of comments) {
    if (/@ts-(ignore|expect-error|nocheck)\b/.test(value)) visitor.lapse('a switched-off check', start);
  }
  const { imports, lapses } = visitor;
  return { path, text, lines: text.trimEnd().split('\n').length, imports, globals: visitor.globals(), lapses };
}

class Visitor {
  readonly imports: Import[] = [];
  readonly lapses: string[] = [];
  readonly #path: string;
  readonly #text: string;
  readonly #used = new Set<string>();
  readonly #declared = new Set<string>();

  constructor(path: string, text: string) {
    this.#path = path;
    this.#text = text;
  }

  globals(): ReadonlySet<string> {
    return new Set([...this.#used].filter((name) => !this.#declared.has(name)));
  }

  lapse(what: string, offset: number): void {
    this.lapses.push(`${what} in line ${this.#text.slice(0, offset).split('\n').length}`);
  }

  visit(value: unknown, key = '', parent: Node = {}): void {
    if (Array.isArray(value)) {
      for (const item of value) this.visit(item, key, parent);
      return;
    }
    if (!isNode(value)) return;
    this.#inspect(value, key, parent);
    for (const [childKey, child] of Object.entries(value)) this.visit(child, childKey, value);
  }

  #inspect(node: Node, key: string, parent: Node): void {
    const { type, start } = node;
    if (type === 'TSAnyKeyword') this.lapse('any', Number(start));
    else if (type === 'TSNonNullExpression') this.lapse('!', Number(start));
    else if (type === 'Identifier') this.#addName(node, key, parent);
    else if (/^(Import|Export)(Named|All|Expr|Decl)/.test(String(type))) this.#addImport(node);
    for (const name of bindingKeys(node)) this.#declare(node[name]);
  }

  #addImport(node: Node): void {
    const from = node['source'];
    if (!isNode(from) || typeof from['value'] !== 'string') return;
    const specifiers = Array.isArray(node['specifiers']) ? node['specifiers'].filter(isNode) : [];
    const onlyTypes = specifiers.length > 0 && specifiers.every((one) => isTypeKind(one));
    const isType = isTypeKind(node) || onlyTypes;
    const name = from['value'];
    const isOurs = name.startsWith('.');
    const target = isOurs ? relative('.', normalize(join(dirname(this.#path), name))).replaceAll('\\', '/') : name;
    this.imports.push({ target, isOurs, isType, isLazy: node['type'] === 'ImportExpression' });
  }

  /** Members (`a.process`), keys (`{ process: 1 }`) and labels of tuples are no uses of a global. */
  #addName(node: Node, key: string, parent: Node): void {
    const isMember = ['property', 'key'].includes(key) && parent['computed'] !== true && parent['shorthand'] !== true;
    const isLabel = key === 'label' || (key === 'right' && parent['type'] === 'TSQualifiedName');
    if (!isMember && !isLabel) this.#used.add(String(node['name']));
  }

  /** Every name that a pattern binds. */
  #declare(pattern: unknown): void {
    if (Array.isArray(pattern)) for (const item of pattern) this.#declare(item);
    if (!isNode(pattern)) return;
    if (pattern['type'] === 'Identifier') this.#declared.add(String(pattern['name']));
    else if (pattern['type'] === 'ObjectPattern') this.#declare(pattern['properties']);
    else if (pattern['type'] === 'ArrayPattern') this.#declare(pattern['elements']);
    else if (pattern['type'] === 'Property') this.#declare(pattern['value']);
    else if (pattern['type'] === 'AssignmentPattern') this.#declare(pattern['left']);
    else if (pattern['type'] === 'RestElement') this.#declare(pattern['argument']);
  }
}

/** Where a node keeps the names that it declares. */
function bindingKeys({ type, params }: Node): readonly string[] {
  if (Array.isArray(params)) return ['id', 'params'];
  if (type === 'CatchClause') return ['param'];
  if (typeof type === 'string' && /^Import.*Specifier$/.test(type)) return ['local'];
  return typeof type === 'string' && /Declarat|ClassExpression/.test(type) ? ['id'] : [];
}

function isTypeKind(node: Node): boolean {
  return node['importKind'] === 'type' || node['exportKind'] === 'type';
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null;
}
