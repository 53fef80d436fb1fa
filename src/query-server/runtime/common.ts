/**
 * What all functions of documents share inside an engine: results and errors as text, compiling, and `require`.
 *
 * Errors leave as JSON arrays behind an `E`: [code, word, reason]. Results have an `R` in front. Fields are parted by the
 * record separator (U+001E), which JSON text can't contain.
 */
export const COMMON = String.raw`
const SEPARATOR = '\x1e';
const { parse, stringify } = JSON;
const hasOwn = (object, name) => Object.prototype.hasOwnProperty.call(object, name);
const isObject = (value) => typeof value === 'object' && value !== null;

/** An error for the host; never seen by a document's function. */
class Failure {
  constructor(code, word, reason) {
    this.code = code;
    this.word = word;
    this.reason = reason;
  }
}

const textOf = (value) => {
  if (typeof value === 'number') return value - value === 0 ? '' + value : 'null';
  if (value === undefined || value === null) return 'null';
  const text = stringify(value);
  return text === undefined ? 'null' : text;
};

const shorten = (text, length) => (text.length > length ? text.slice(0, length) + '…' : text);

/** Of anything that was thrown; getters and toString of strangers may throw in turn. */
function describe(thrown) {
  try {
    if (isObject(thrown) && typeof thrown.message === 'string') return shorten(thrown.name + ': ' + thrown.message, 500);
    return shorten(typeof thrown === 'string' ? thrown : textOf(thrown), 500);
  } catch {
    return 'an error that cannot be shown';
  }
}

const isOutOfMemory = (thrown) => thrown instanceof InternalError && thrown.message === 'out of memory';

/** What a function threw, as it is answered: ["error", word, reason], {error, reason}, an Error, or anything else. */
function toFailure(thrown) {
  if (thrown instanceof Failure) return thrown;
  try {
    if (isOutOfMemory(thrown)) return new Failure('memory', '', '');
    if (Array.isArray(thrown) && (thrown[0] === 'error' || thrown[0] === 'fatal'))
      return new Failure('function_error', '' + thrown[1], reasonOf(thrown[2]));
    if (isObject(thrown)) {
      if (hasOwn(thrown, 'forbidden')) return new Failure('forbidden', '', reasonOf(thrown.forbidden));
      if (hasOwn(thrown, 'unauthorized')) return new Failure('unauthorized', '', reasonOf(thrown.unauthorized));
      if (thrown.error && thrown.reason) return new Failure('function_error', '' + thrown.error, reasonOf(thrown.reason));
      if (thrown.name) return new Failure('function_error', '' + thrown.name, reasonOf(thrown.message));
    }
  } catch {}
  return new Failure('function_error', 'unnamed_error', describe(thrown));
}

const reasonOf = (reason) => (typeof reason === 'string' ? reason : textOf(reason));
const toError = (failure) => 'E' + stringify([failure.code, failure.word, failure.reason]);

const messages = [];
/** Kept until the call ends: at most 100 of 1,000 characters, so that a function can't flood the service's log. */
function log(message) {
  if (messages.length < 100) messages.push(shorten(typeof message === 'string' ? message : describe(message), 1000));
}

const evaluate = eval;

/**
 * The value of an expression that has the helpers as variables of its own: to a frozen global "sum = 0" would do nothing, and say
 * nothing. What it declares may have their names, if that is in a function inside.
 */
function withHelpers(text) {
  return evaluate('(function (' + Object.keys(helpers) + ') { return ' + text + '; })')(...Object.values(helpers));
}

/** The function that a source is: an expression, with or without name, comments around it and semicolons behind it. */
function compile(kind, source) {
  let compiled;
  try {
    if (typeof source !== 'string') throw new SyntaxError('its source is not a string');
    compiled = withHelpers('(function () { var f =\n' + source + '\n; return f; })()');
  } catch (thrown) {
    throw toCompilationFailure(kind, source, thrown);
  }
  if (typeof compiled !== 'function') {
    throw toCompilationFailure(kind, source, new SyntaxError('Expression does not eval to a function.'));
  }
  return compiled;
}

function toCompilationFailure(kind, source, thrown) {
  if (thrown instanceof Failure) return thrown;
  const text = shorten(typeof source === 'string' ? source : textOf(source), 200);
  return new Failure('compilation_error', '', kind + ': ' + describe(thrown) + ' (' + text + ')');
}

let designDocument = {};
const modules = new Map();

const badPath = (path, why) => new Failure('invalid_require_path', '', 'require("' + path + '"): ' + why);

/** Absolute path of a module, as its segments: from the design document, or (with a dot in front) from the folder of the caller. */
function resolvePath(path, folder) {
  const names = String(path).split('/');
  const resolved = names[0] === '.' || names[0] === '..' ? folder.slice() : [];
  for (const name of names) {
    if (name === '..' && resolved.pop() === undefined) throw badPath(path, 'the path leaves the design document');
    if (name !== '..' && name !== '.' && name !== '') resolved.push(name);
  }
  return resolved;
}

function sourceAt(names, path) {
  let place = designDocument;
  for (const name of names) {
    if (!isObject(place) || !hasOwn(place, name)) throw badPath(path, 'there is no member "' + name + '" on its way');
    place = place[name];
  }
  if (typeof place !== 'string') throw badPath(path, 'the member there is not a string');
  return place;
}

/** CommonJS. A module runs once per engine; one that (through others) requires itself is refused (completion.md 15). */
function requireFrom(folder) {
  return function require(path) {
    const names = resolvePath(path, folder);
    const id = names.join('/');
    const known = modules.get(id);
    if (known !== undefined && known.loading) throw badPath(path, 'the module requires itself');
    if (known !== undefined) return known.module.exports;
    const source = sourceAt(names, path);
    const entry = { module: { id, exports: {} }, loading: true };
    modules.set(id, entry);
    try {
      run(source, names.slice(0, -1), entry.module);
    } catch (thrown) {
      modules.delete(id);
      throw thrown;
    }
    entry.loading = false;
    return entry.module.exports;
  };
}

function run(source, folder, module) {
  let wrapped;
  try {
    wrapped = withHelpers('(function (module, exports, require) {' + source + '\n})');
  } catch (thrown) {
    throw toCompilationFailure('module ' + module.id, source, thrown);
  }
  wrapped.call(module.exports, module, module.exports, requireFrom(folder));
}

function sum(values) {
  let total = 0;
  for (let at = 0; at < values.length; at++) total += values[at];
  return total;
}

/** A document's function by kind and name, compiled once per engine. */
const compiled = new Map();
function named(kind, name) {
  const key = kind + '/' + name;
  let found = compiled.get(key);
  if (found !== undefined) return found;
  const group = hasOwn(designDocument, kind) ? designDocument[kind] : undefined;
  if (!isObject(group) || !hasOwn(group, name)) {
    throw new Failure('not_found', '', 'missing ' + kind + ' function ' + name + ' on design doc ' + designId);
  }
  found = compile(kind + '.' + name, group[name]);
  compiled.set(key, found);
  return found;
}
let designId = '';
`;
