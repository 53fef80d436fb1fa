/**
 * The program that a sandbox begins with, before any function of a document. The build makes one text from it and from what it
 * imports (packages/build/sandbox-program.ts). The text is evaluated once for each sandbox, in a global scope of its own: what these modules
 * keep belongs to that sandbox.
 *
 * Documents' functions see only the helpers below, and none of the program's variables.
 */
import { filterBatch, validateBatch } from './checks.ts';
import { log, takeMessages, toFailure, toFailureText } from './failures.ts';
import { setDesignDocument, setHelpers } from './functions.ts';
import { addList, beginList, dropList, list, resumeList } from './lists.ts';
import { lockDown } from './lockdown.ts';
import { requireFrom } from './modules.ts';
import { type OperationName, SEPARATOR } from './protocol.ts';
import { endRendering, getRow, type PullRows, provides, registerType, send, setPullRows, start } from './rendering.ts';
import { show, update } from './shows.ts';
import { sum, textOf } from './values.ts';
import { addMap, addReducer, emit, endMaps, filterByView, mapBatch, reduceBatch, rereduceBatch } from './views.ts';

/** Runs one operation; see protocol.ts. */
type Perform = (operation: OperationName, first: string, second: string, third: string) => string;

const operations: Readonly<Record<OperationName, (first: string, second: string, third: string) => string>> = {
  begin,
  addMap,
  addReducer,
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

/** `pullRows` is the only function of the host that a sandbox has; documents' functions can't reach it. */
export function createProgram(pullRows: PullRows): Perform {
  setPullRows(pullRows);
  const helpers = {
    emit,
    sum,
    log,
    toJSON: textOf,
    isArray: Array.isArray,
    require: requireFrom([]),
    provides,
    registerType,
    start,
    send,
    getRow,
  };
  setHelpers(helpers);
  Object.assign(globalThis, helpers);
  lockDown(globalThis);
  return perform;
}

function begin(designId: string, designDocument: string): string {
  setDesignDocument(designId, designDocument);
  return '';
}

function perform(operation: OperationName, first: string, second: string, third: string): string {
  let result: string;
  try {
    result = `R${operations[operation](first, second, third)}`;
  } catch (thrown) {
    result = `E${toFailureText(toFailure(thrown))}`;
  }
  endMaps();
  endRendering();
  return `${takeMessages()}${SEPARATOR}${result}`;
}
