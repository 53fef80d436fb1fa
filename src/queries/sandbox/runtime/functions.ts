/** The design document whose functions the sandbox runs, and the compilation of its functions. */
import { describe, Failure } from './failures.ts';
import { type DocumentFunction, freezeDeep, hasOwn, isObject, type Members, parse, shorten, textOf } from './values.ts';

// biome-ignore lint/security/noGlobalEval: Running sources of documents is what a sandbox is for. Called by another name, it sees globals alone.
const evaluate: (text: string) => unknown = eval;

/** What documents' functions can call, by name. */
let helpers: Members = {};

/** To be called once, before anything is compiled. */
export function setHelpers(all: Members): void {
  helpers = all;
}

/**
 * Returns the value of an expression that has the helpers as its own variables: on a frozen global, `sum = 0` would silently do
 * nothing. Its declarations may have the same names, if they are in a function inside.
 */
export function withHelpers(text: string): unknown {
  const create = evaluate(`(function (${Object.keys(helpers)}) { return ${text}; })`) as DocumentFunction;
  return create(...Object.values(helpers));
}

/** Returns the function that a source defines: an expression, with or without name, comments around it and semicolons after it. */
export function compile(kind: string, source: unknown): DocumentFunction {
  let compiled: unknown;
  try {
    if (typeof source !== 'string') throw new SyntaxError('its source is not a string');
    compiled = withHelpers(asExpression(source));
  } catch (thrown) {
    throw toCompilationFailure(kind, source, thrown);
  }
  if (typeof compiled === 'function') return compiled as DocumentFunction;
  throw toCompilationFailure(kind, source, new SyntaxError('Expression does not eval to a function.'));
}

/** Throws if the source can't be parsed. Its helpers are not available: nothing of it must be called. */
export function checkSyntax(source: string): void {
  evaluate(asExpression(source));
}

export function toCompilationFailure(kind: string, source: unknown, thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  const text = shorten(typeof source === 'string' ? source : textOf(source), 200);
  return new Failure('compilation_error', '', `${kind}: ${describe(thrown)} (${text})`);
}

function asExpression(source: string): string {
  return `(function () { var f =\n${source}\n; return f; })()`;
}

export let designDocument: Members = {};
let designId = '';

/** By kind and name, each compiled once. */
const compiledFunctions = new Map<string, DocumentFunction>();

/** To be called once, before any function is requested. Takes the document's JSON text. */
export function setDesignDocument(id: string, text: string): void {
  const parsed = parse(text);
  designId = id;
  designDocument = isObject(parsed) ? parsed : {};
  freezeDeep(designDocument);
}

/** Returns the function that `create` compiles on first use. */
export function compiledOnce(key: string, create: () => DocumentFunction): DocumentFunction {
  let found = compiledFunctions.get(key);
  if (found === undefined) {
    found = create();
    compiledFunctions.set(key, found);
  }
  return found;
}

/** Returns the function of that name in `filters`, `shows` and the like. Fails with `not_found`. */
export function functionNamed(kind: string, name: string): DocumentFunction {
  return compiledOnce(`${kind}/${name}`, () => {
    const group = hasOwn(designDocument, kind) ? designDocument[kind] : undefined;
    if (isObject(group) && hasOwn(group, name)) return compile(`${kind}.${name}`, group[name]);
    throw new Failure('not_found', '', `missing ${kind} function ${name} on design doc ${designId}`);
  });
}
