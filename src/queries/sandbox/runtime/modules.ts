/** The helper `require`: CommonJS modules out of the design document (docs/http/functions.md#the-sandbox). */

import { Failure } from './failures.ts';
import { designDocument, toCompilationFailure, withHelpers } from './functions.ts';
import { registerTypes, type TypeRegistration, typesOf } from './rendering.ts';
import { type DocumentFunction, hasOwn, isObject } from './values.ts';

interface Module {
  readonly id: string;
  exports: unknown;
}

interface LoadedModule {
  readonly module: Module;
  /** What it registers by `registerType`. */
  types: readonly TypeRegistration[];
}

/** By absolute path. */
const modules = new Map<string, LoadedModule>();

/**
 * Returns a `require` that resolves paths with a leading dot from that folder, a list of member names. A module runs once per
 * sandbox. One that is still running, because it requires itself through others, returns its exports so far, as in CommonJS.
 */
export function requireFrom(folder: readonly string[]): (path: unknown) => unknown {
  return function require(path: unknown): unknown {
    const names = resolvePath(path, folder);
    const { module, types } = modules.get(names.join('/')) ?? load(names, path);
    registerTypes(types);
    return module.exports;
  };
}

function load(names: readonly string[], path: unknown): LoadedModule {
  const source = sourceAt(names, path);
  const id = names.join('/');
  const entry: LoadedModule = { module: { id, exports: {} }, types: [] };
  modules.set(id, entry);
  try {
    entry.types = typesOf(() => run(source, names.slice(0, -1), entry.module));
  } catch (thrown) {
    modules.delete(id);
    throw thrown;
  }
  return entry;
}

/** Returns the path of a module, as its segments: from the design document, or (with a leading dot) from the folder of the caller. */
function resolvePath(path: unknown, folder: readonly string[]): string[] {
  const names = String(path).split('/');
  const resolved = names[0] === '.' || names[0] === '..' ? folder.slice() : [];
  for (const name of names) {
    if (name === '..' && resolved.pop() === undefined) throw badPath(path, 'the path leaves the design document');
    if (name !== '..' && name !== '.' && name !== '') resolved.push(name);
  }
  return resolved;
}

function sourceAt(names: readonly string[], path: unknown): string {
  let member: unknown = designDocument;
  for (const name of names) {
    if (!isObject(member) || !hasOwn(member, name))
      throw badPath(path, `the design document has no member "${name}" at this path`);
    member = member[name];
  }
  if (typeof member === 'string') return member;
  throw badPath(path, 'the member there is not a string');
}

function run(source: string, folder: readonly string[], module: Module): void {
  let wrapped: DocumentFunction;
  try {
    wrapped = withHelpers(`(function (module, exports, require) {${source}\n})`) as DocumentFunction;
  } catch (thrown) {
    throw toCompilationFailure(`module ${module.id}`, source, thrown);
  }
  wrapped.call(module.exports, module, module.exports, requireFrom(folder));
}

function badPath(path: unknown, why: string): Failure {
  return new Failure('invalid_require_path', '', `require("${path}"): ${why}`);
}
