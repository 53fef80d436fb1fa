/**
 * The text that an engine is begun with. It evaluates to a function of texts that does all the work:
 * `(pullRows) => (operation, first, second, third) => text`. `pullRows` is the only function of the host that an engine
 * has: it takes what a list has sent and gives the next rows, and documents' functions can't reach it.
 */
import { COMMON } from './common.ts';
import { LOCKDOWN } from './lockdown.ts';
import { RENDERING } from './rendering.ts';
import { VIEWS } from './views.ts';

export const ENGINE_PROGRAM = `
(function (pullRows) {
'use strict';
${LOCKDOWN}
${COMMON}
${VIEWS}
${RENDERING}

function begin(id, design) {
  designId = id;
  designDocument = parse(design);
  if (!isObject(designDocument)) designDocument = {};
  freezeDeep(designDocument);
  return '';
}
const operations = {
  __proto__: null,
  begin,
  addMap: (source) => '' + (maps.push(compile('map', source)) - 1),
  addReducer: (source) => '' + (reducers.push(compile('reduce', source)) - 1),
  map: mapBatch,
  reduce: reduceBatch,
  rereduce: rereduceBatch,
  filter: filterBatch,
  filterByView,
  validate: validateBatch,
  show,
  update,
  list,
  addList,
  beginList,
  resumeList,
  dropList,
};
const helpers = {
  emit, sum, log, toJSON: textOf, isArray: Array.isArray, require: requireFrom([]), provides, registerType, start, send, getRow,
};
Object.assign(globalThis, helpers);
lockDown(globalThis);
return function perform(operation, first, second, third) {
  let result;
  try {
    result = 'R' + operations[operation](first, second, third);
  } catch (thrown) {
    result = toError(toFailure(thrown));
  }
  sink = undefined;
  rendering = undefined;
  const said = messages.length > 0 ? stringify(messages) : '';
  messages.length = 0;
  return said + '\\x1e' + result;
};
})
`;
