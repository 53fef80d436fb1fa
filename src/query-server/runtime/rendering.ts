/** Shows, lists and updates inside an engine, with the media types that `provides` chooses among (completion.md 15). */
export const RENDERING = String.raw`
const TYPES = [
  ['all', '*/*'],
  ['text', 'text/plain; charset=utf-8', 'txt'],
  ['html', 'text/html; charset=utf-8'],
  ['xhtml', 'application/xhtml+xml', 'xhtml'],
  ['xml', 'application/xml', 'text/xml', 'application/x-xml'],
  ['js', 'text/javascript', 'application/javascript', 'application/x-javascript'],
  ['css', 'text/css'],
  ['ics', 'text/calendar'],
  ['csv', 'text/csv'],
  ['rss', 'application/rss+xml'],
  ['atom', 'application/atom+xml'],
  ['yaml', 'application/x-yaml', 'text/yaml'],
  ['multipart_form', 'multipart/form-data'],
  ['url_encoded_form', 'application/x-www-form-urlencoded'],
  ['json', 'application/json', 'text/x-json'],
];

/** What one request has said so far; undefined between requests. */
let rendering;

function beginRendering() {
  const types = new Map(TYPES.map(([key, ...names]) => [key, names]));
  rendering = {
    types, provided: [], chosenType: undefined, chunks: [], start: {}, hasBegun: false,
    isList: false, isStepped: false, rows: [], nextRow: 0, isAtEnd: false,
  };
}

function mustRender(name) {
  if (rendering === undefined) throw new TypeError(name + '() is for shows, lists and updates');
  return rendering;
}

function registerType(key, ...names) {
  mustRender('registerType').types.set(key, names);
}

function provides(key, answer) {
  mustRender('provides').provided.push([key, answer]);
}

/** The first row begins the answer: what comes later is too late for its head, as in CouchDB. */
function start(response) {
  const state = mustRender('start');
  if (state.hasBegun) log('start() after getRow() changes nothing: the head of the answer is said before the first row');
  else state.start = isObject(response) ? response : {};
}

function send(chunk) {
  mustRender('send').chunks.push(String(chunk));
}

function getRow() {
  const state = mustRender('getRow');
  if (!state.isList) return null;
  state.hasBegun = true;
  while (state.nextRow >= state.rows.length) {
    if (state.isAtEnd) return null;
    if (state.isStepped) throw new Failure('render_error', '', 'getRow() was called where it cannot wait for a row: call it by its name, in the list function itself');
    const text = pullRows(state.chunks.join(''));
    state.chunks = [];
    if (text === '') {
      state.isAtEnd = true;
      return null;
    }
    state.rows = parse(text);
    state.nextRow = 0;
  }
  return state.rows[state.nextRow++];
}

/** Whether getRow() has to wait; asked by list functions that can (../list-source.ts). */
getRow.waits = function waits() {
  return rendering !== undefined && rendering.isStepped && !rendering.isAtEnd && rendering.nextRow >= rendering.rows.length;
};

const bareType = (name) => name.split(';')[0].trim().toLowerCase();

/** How well a media type fits an Accept header: [quality, how exact the range is] of the most exact range that fits. */
function acceptance(type, ranges) {
  const [kind, subtype] = type.split('/');
  let best = [0, -1];
  for (const { range, quality } of ranges) {
    const exactness = range === type ? 2 : range === kind + '/*' && subtype !== undefined ? 1 : range === '*/*' ? 0 : -1;
    if (exactness > best[1]) best = [quality, exactness];
  }
  return type === '*/*' && best[1] < 0 && ranges.some(({ quality }) => quality > 0) ? [0.001, 0] : best;
}

function parseAccept(header) {
  return header.split(',').map((part) => {
    const [range, ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const quality = parameters.find((text) => text.startsWith('q='));
    const value = quality === undefined ? 1 : Number(quality.slice(2));
    return { range: range === '*' ? '*/*' : range, quality: value >= 0 && value <= 1 ? value : 1 };
  });
}

function headerOf(request, name) {
  const headers = isObject(request.headers) ? request.headers : {};
  const found = Object.keys(headers).find((key) => key.toLowerCase() === name);
  return found === undefined ? undefined : String(headers[found]);
}

/** By ?format=, else by Accept (in doubt the one that was provided first), else the first. */
function choose(request) {
  const { provided, types } = rendering;
  const format = isObject(request.query) ? request.query.format : undefined;
  const accept = headerOf(request, 'accept');
  if (format) return provided.filter(([key]) => key === format).map(([key, answer]) => ({ answer, type: (types.get(key) || [])[0] }))[0];
  if (accept === undefined || accept === '') return { answer: provided[0][1], type: (types.get(provided[0][0]) || [])[0] };
  const ranges = parseAccept(accept);
  let best;
  for (const [key, answer] of provided) {
    for (const type of types.get(key) || []) {
      const [quality, exactness] = acceptance(bareType(type), ranges);
      const better = best === undefined || quality > best.quality || (quality === best.quality && exactness > best.exactness);
      if (quality > 0 && better) best = { answer, type, quality, exactness };
    }
  }
  return best;
}

function runProvided(request) {
  const { provided, types } = rendering;
  const chosen = choose(request);
  if (chosen === undefined) {
    const wanted = (isObject(request.query) && request.query.format) || headerOf(request, 'accept');
    const known = provided.map(([key]) => (types.get(key) || [key]).join(', ')).join(', ');
    throw new Failure('not_acceptable', '', 'Content-Type ' + wanted + ' not supported, try one of: ' + known);
  }
  rendering.chosenType = chosen.type;
  return chosen.answer.call(designDocument);
}

const isResponse = (value) => typeof value === 'string' || isObject(value);
const asObject = (value) => (typeof value === 'string' ? { body: value } : value);

/** What a function returned, with what start() and send() said, as one response object. */
function join(returned, provided) {
  const { start: begun, chunks, chosenType } = rendering;
  const result = Object.assign({}, begun, asObject(returned), provided === undefined ? {} : asObject(provided));
  const bodies = [asObject(returned), provided === undefined ? undefined : asObject(provided)];
  const headers = Object.assign({}, begun.headers, ...bodies.map((body) => (isObject(body) ? body.headers : undefined)));
  const own = bodies.map((body) => (isObject(body) && body.body !== undefined ? String(body.body) : '')).join('');
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  if (chosenType !== undefined && !hasType) headers['Content-Type'] = chosenType;
  const hasBody = chunks.length > 0 || bodies.some((body) => isObject(body) && body.body !== undefined);
  const { code, json, base64 } = result;
  return { code, headers, body: hasBody ? chunks.join('') + own : undefined, json, base64 };
}

const toResponseText = (response) => {
  const text = stringify(response);
  if (text === undefined) throw new Failure('render_error', '', 'the response is not an object');
  return text;
};

function raised(thrown) {
  if (thrown instanceof Failure) return thrown;
  const isTold = Array.isArray(thrown) || (isObject(thrown) && !(thrown instanceof Error)) || isOutOfMemory(thrown);
  return isTold ? toFailure(thrown) : new Failure('render_error', '', 'function raised error: ' + describe(thrown));
}

/** A path that names a document which is not there, and a function that has nothing to say about it (completion.md 15). */
const isMissing = (document, request) => document === null && typeof request.id === 'string';

function show(name, documentText, requestText) {
  const render = named('shows', name);
  const document = parse(documentText);
  const request = parse(requestText);
  beginRendering();
  let returned;
  let provided;
  try {
    returned = render.call(designDocument, document, request);
    if (rendering.provided.length > 0) provided = runProvided(request);
  } catch (thrown) {
    const failure = raised(thrown);
    if (isMissing(document, request) && failure.code === 'render_error') throw new Failure('not_found', '', 'document not found');
    throw failure;
  }
  const hasSaid = isResponse(returned) || isResponse(provided) || rendering.chunks.length > 0;
  if (!hasSaid) {
    if (isMissing(document, request)) throw new Failure('not_found', '', 'document not found');
    throw new Failure('render_error', '', 'undefined response from show function');
  }
  return toResponseText(join(returned, provided));
}

function update(name, documentText, requestText) {
  const change = named('updates', name);
  beginRendering();
  let returned;
  try {
    returned = change.call(designDocument, parse(documentText), parse(requestText));
  } catch (thrown) {
    throw raised(thrown);
  }
  if (!Array.isArray(returned) || !isResponse(returned[1])) {
    throw new Failure('render_error', '', 'undefined response from update function');
  }
  const document = isObject(returned[0]) ? stringify(returned[0]) : '';
  return document + SEPARATOR + toResponseText(join(returned[1], undefined));
}

function listHead() {
  const { start: begun, chosenType } = rendering;
  const headers = Object.assign({}, begun.headers);
  const hasType = Object.keys(headers).some((key) => key.toLowerCase() === 'content-type');
  if (chosenType !== undefined && !hasType) headers['Content-Type'] = chosenType;
  return { code: begun.code, headers };
}

const takeSent = () => rendering.chunks.splice(0).join('');

/** Runs with its rows from pullRows(): the head, and what was sent after the last pull. */
function list(name, headText, requestText) {
  const render = named('lists', name);
  const request = parse(requestText);
  beginRendering();
  rendering.isList = true;
  let tail;
  try {
    tail = render.call(designDocument, parse(headText), request);
    if (rendering.provided.length > 0) tail = runProvided(request);
  } catch (thrown) {
    throw raised(thrown);
  }
  if (tail !== undefined && tail !== null) send(tail);
  return toResponseText(listHead()) + SEPARATOR + takeSent();
}

/** A list function that can wait, or '' where its source does not compile as one (../list-source.ts). */
function addList(name, check, source) {
  named('lists', name);
  try {
    evaluate('(function () { var f =\n' + check + '\n; return f; })()');
    compiled.set('stepped/' + name, compile('lists.' + name, source));
    return '1';
  } catch {
    return '';
  }
}

const isGenerator = (value) => Object.prototype.toString.call(value) === '[object Generator]';

/** Yields where a row must be waited for. */
function* steps(render, head, request) {
  let tail = render.call(designDocument, head, request);
  if (isGenerator(tail)) tail = yield* tail;
  if (rendering.provided.length > 0) tail = runProvided(request);
  if (isGenerator(tail)) tail = yield* tail;
  if (tail !== undefined && tail !== null) send(tail);
}

/** Lists that wait for rows, by number. */
const waitingLists = new Map();
let lists = 0;

/** As list(), up to where it needs its first row: its number, its head, and 'D' (done) or 'W' (waits) before what it sent. */
function beginList(name, headText, requestText) {
  const render = compiled.get('stepped/' + name);
  beginRendering();
  rendering.isList = rendering.isStepped = true;
  const id = '' + ++lists;
  const walk = { steps: steps(render, parse(headText), parse(requestText)), state: rendering };
  const said = stepOn(id, walk);
  return id + SEPARATOR + toResponseText(listHead()) + SEPARATOR + said;
}

/** rows: a JSON array that is not empty, or '' behind the last. */
function resumeList(id, rows) {
  const walk = waitingLists.get(id);
  rendering = walk.state;
  if (rows === '') rendering.isAtEnd = true;
  else {
    rendering.rows = parse(rows);
    rendering.nextRow = 0;
  }
  return stepOn(id, walk);
}

function stepOn(id, walk) {
  let isDone;
  try {
    isDone = walk.steps.next().done;
  } catch (thrown) {
    waitingLists.delete(id);
    throw raised(thrown);
  }
  if (isDone) waitingLists.delete(id);
  else waitingLists.set(id, walk);
  return (isDone ? 'D' : 'W') + takeSent();
}

function dropList(id) {
  waitingLists.delete(id);
  return '';
}
`;
