/**
 * Maps, reduces, filters and validation inside an engine. Each works on a batch: documents come as texts in one string,
 * results go as one string, so that the border is crossed once.
 */
export const VIEWS = String.raw`
const maps = [];
const reducers = [];

/** Where emit() puts rows; undefined while no map runs. */
let sink;

/** Stands in a row for a text that was made at once, which comes in a list of its own. */
const MADE = {};

function isPlain(value) {
  const kind = typeof value;
  return kind === 'number' || kind === 'string' || kind === 'boolean' || value === null || value === undefined;
}

/**
 * What can wait as it is until the batch ends, and be made text all at once then, which costs a fraction of one by one:
 * what no function can change until then, that is plain values, and copies of short arrays of them. MADE for all else.
 */
function toKept(value) {
  if (isPlain(value)) return value;
  if (typeof value !== 'object' || !Array.isArray(value) || value.toJSON !== undefined) return MADE;
  const { length } = value;
  if (length > 16) return MADE;
  const copy = [];
  for (let at = 0; at < length; at++) {
    const item = value[at];
    if (!isPlain(item)) return MADE;
    copy[at] = item;
  }
  return copy;
}

function emit(key, value) {
  if (sink === undefined) throw new TypeError('emit() is for map functions');
  const keptKey = toKept(key);
  const keptValue = toKept(value);
  // toJSON() may throw, or emit in turn: a row is complete before it counts.
  const keyText = keptKey === MADE ? textOf(key) : undefined;
  const valueText = keptValue === MADE ? textOf(value) : undefined;
  const { keys, values, keyTexts, valueTexts } = sink;
  if (keyText !== undefined) keyTexts[keyTexts.length] = keyText;
  if (valueText !== undefined) valueTexts[valueTexts.length] = valueText;
  keys[keys.length] = keptKey;
  values[values.length] = keptValue;
}

const createSink = () => ({ counts: [], keys: [], values: [], keyTexts: [], valueTexts: [] });

function freezeDeep(value) {
  Object.freeze(value);
  for (const name of Object.keys(value)) {
    const member = value[name];
    if (typeof member === 'object' && member !== null) freezeDeep(member);
  }
}

function mapOne(map, document, output, id) {
  const { keys, values, keyTexts, valueTexts } = output;
  const before = keys.length;
  const keysMade = keyTexts.length;
  const valuesMade = valueTexts.length;
  sink = output;
  try {
    map(document);
  } catch (thrown) {
    keys.length = values.length = before;
    keyTexts.length = keysMade;
    valueTexts.length = valuesMade;
    sink = undefined;
    onMapError(thrown, id);
  }
  sink = undefined;
  return keys.length - before;
}

/** What ends the build is thrown on; else the document is left out of this view, and the log says so. */
function onMapError(thrown, id) {
  if (thrown instanceof Failure) throw thrown;
  if (isOutOfMemory(thrown) || thrown === 'fatal_error' || (Array.isArray(thrown) && thrown[0] === 'fatal')) {
    throw thrown === 'fatal_error' ? new Failure('function_error', 'map_runtime_error', "function raised 'fatal_error'") : toFailure(thrown);
  }
  log('a map function raised ' + describe(thrown) + ' with the document ' + textOf(id));
}

function parseOrSkip(text) {
  try {
    return parse(text);
  } catch (thrown) {
    onMapError(thrown, shorten(text, 100));
    return undefined;
  }
}

/** chosen: indexes of maps with commas between; frozen: whether documents must be frozen. */
function mapBatch(chosen, frozen, text) {
  const functions = chosen.split(',').map((index) => maps[index]);
  const outputs = functions.map(createSink);
  const texts = text.split(SEPARATOR);
  for (let at = 0; at < texts.length; at++) {
    const document = parseOrSkip(texts[at]);
    if (frozen === '1' && document !== undefined) freezeDeep(document);
    for (let index = 0; index < functions.length; index++) {
      const output = outputs[index];
      output.counts[at] = document === undefined ? 0 : mapOne(functions[index], document, output, document._id);
    }
  }
  return outputs.map(toFields).join(SEPARATOR);
}

const toFields = ({ counts, keys, values, keyTexts, valueTexts }) =>
  [counts.join(','), stringify(keys), keyTexts.join('\n'), stringify(values), valueTexts.join('\n')].join(SEPARATOR);

function reduceOne(reduce, keys, values, rereduce) {
  try {
    return textOf(reduce(keys, values, rereduce));
  } catch (thrown) {
    if (thrown instanceof Failure || isOutOfMemory(thrown) || (Array.isArray(thrown) && thrown[0] === 'fatal')) throw toFailure(thrown);
    log('a reduce function raised ' + describe(thrown));
    return 'null';
  }
}

/** The texts of each group's keys and values, alternating. */
function reduceBatch(index, text) {
  const reduce = reducers[index];
  const texts = text.split(SEPARATOR);
  const results = [];
  for (let at = 0; at < texts.length; at += 2) results.push(reduceOne(reduce, parse(texts[at]), parse(texts[at + 1]), false));
  return results.join('\n');
}

function rereduceBatch(index, text) {
  const reduce = reducers[index];
  return text.split(SEPARATOR).map((values) => reduceOne(reduce, null, parse(values), true)).join('\n');
}

function filterBatch(name, request, text) {
  const filter = named('filters', name);
  const parsed = parse(request);
  return text.split(SEPARATOR).map((document) => (filter.call(designDocument, parse(document), parsed) ? '1' : '0')).join('');
}

function filterByView(name, text) {
  const views = hasOwn(designDocument, 'views') ? designDocument.views : undefined;
  const view = isObject(views) && hasOwn(views, name) ? views[name] : undefined;
  if (!isObject(view)) throw new Failure('not_found', '', 'missing_named_view');
  const key = 'map/' + name;
  if (!compiled.has(key)) compiled.set(key, compile('views.' + name + '.map', view.map));
  const map = compiled.get(key);
  return text.split(SEPARATOR).map((document) => {
    const output = createSink();
    const parsed = parse(document);
    return mapOne(map, parsed, output, parsed._id) > 0 ? '1' : '0';
  }).join('');
}

/**
 * Four texts for each write: the new document, the old one, user context, security object. A function may change what
 * it is given, so that each write has its own.
 */
function validateBatch(text) {
  const key = 'validate_doc_update';
  if (!compiled.has(key)) compiled.set(key, compile(key, designDocument[key]));
  const validate = compiled.get(key);
  const texts = text.split(SEPARATOR);
  const outcomes = [];
  for (let at = 0; at < texts.length; at += 4) {
    let outcome = '';
    try {
      validate.call(designDocument, parse(texts[at]), parse(texts[at + 1]), parse(texts[at + 2]), parse(texts[at + 3]));
    } catch (thrown) {
      const failure = toFailure(thrown);
      if (failure.code === 'memory') throw failure;
      outcome = stringify([failure.code, failure.word, failure.reason]);
    }
    outcomes.push(outcome);
  }
  return outcomes.join(SEPARATOR);
}
`;
