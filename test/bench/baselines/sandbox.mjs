/**
 * What building views costs at least: documents into QuickJS as one JSON text per batch, through the map functions, and
 * the rows out as one JSON text. Nothing is kept, sorted or stored, and nothing of Settee takes part.
 */
import variant from '@jitl/quickjs-wasmfile-release-sync';
import { newQuickJSWASMModuleFromVariant } from 'quickjs-emscripten-core';
import { documentText, idKinds } from '../documents.mjs';
import { answerCalls } from '../processes.mjs';

const BATCH = 100;
const quickjs = await newQuickJSWASMModuleFromVariant(variant);
let batches = [];

/** As one would write it: parse the batch, run every function on every document, stringify all rows at the end. */
const program = `
(function () {
  var rows;
  globalThis.emit = function (key, value) { rows.push([key === undefined ? null : key, value === undefined ? null : value]); };
  return function (maps) {
    return function (text) {
      return JSON.stringify(JSON.parse(text).map(function (document) {
        return maps.map(function (map) {
          rows = [];
          map(document);
          return rows;
        });
      }));
    };
  };
})()
`;

answerCalls({
  prepare(count) {
    const texts = Array.from({ length: count }, (_, index) => {
      return documentText(index, idKinds.sequential(index), { rev: `1-${String(index).padStart(32, '0')}` });
    });
    batches = Array.from({ length: Math.ceil(count / BATCH) }, (_, batch) => {
      return `[${texts.slice(batch * BATCH, (batch + 1) * BATCH).join(',')}]`;
    });
  },
  /** Milliseconds for all documents, in a new runtime; `maps` are function sources. */
  measure(maps) {
    const startedAt = performance.now();
    const context = quickjs.newContext();
    const create = context.unwrapResult(context.evalCode(program));
    const functions = context.unwrapResult(context.evalCode(`[${maps.join(',')}]`));
    const run = context.unwrapResult(context.callFunction(create, context.undefined, functions));
    let rows = 0;
    for (const batch of batches) {
      const text = context.newString(batch);
      const result = context.unwrapResult(context.callFunction(run, context.undefined, text));
      rows += JSON.parse(context.getString(result)).flat(2).length;
      text.dispose();
      result.dispose();
    }
    for (const handle of [run, functions, create]) handle.dispose();
    context.dispose();
    const ms = performance.now() - startedAt;
    if (rows === 0) throw new Error('no rows came out');
    return ms;
  },
});
