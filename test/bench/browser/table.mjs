/** The table of the browser bench. What is asked holds for Chromium, where not said otherwise. */
import { figure } from '../figures.mjs';

/** Times as fast as the better of PouchDB's adapters, at least. Ratios in the table are ours by theirs. */
function against(values, { name, ours, theirs, times, unit = 'ms', remark }) {
  const idb = values[`${theirs}Idb`];
  const indexeddb = values[`${theirs}Indexeddb`] ?? Number.POSITIVE_INFINITY;
  const floor = Math.min(idb, indexeddb);
  const floorName = `PouchDB ${idb <= indexeddb ? 'idb' : 'indexeddb'}`;
  const compared = `${(floor / values[ours]).toFixed(2)} times as fast, asked ${times}`;
  const note = remark === undefined ? compared : `${compared}; ${remark}`;
  return { name, ours: values[ours], floor, floorName, unit, asked: { atMost: round(1 / times) }, note };
}

function round(value) {
  return Number(value.toFixed(3));
}

const rows = [
  {
    needs: 'bulkDirect',
    make: (values) => [
      against(values, {
        name: `_bulk_docs of ${values.bulkCount}, settee.fetch`,
        ours: 'bulkDirect',
        theirs: 'bulk',
        times: 6,
      }),
      against(values, { name: '– through the service worker', ours: 'bulkThrough', theirs: 'bulk', times: 4 }),
    ],
  },
  {
    needs: 'putDirect',
    make: (values) => [
      against(values, {
        name: 'PUT one after another',
        ours: 'putDirect',
        theirs: 'put',
        times: 1.6,
        remark: `a worker that only stores the text, ${values.putBare.toFixed(2)} ms`,
      }),
      against(values, { name: 'PUT 50 at a time, each', ours: 'put50Direct', theirs: 'put50', times: 8 }),
    ],
  },
  {
    needs: 'getDirect',
    make: (values) => [
      against(values, { name: 'GET one after another, warm', ours: 'getDirect', theirs: 'get', times: 1.3 }),
      against(values, { name: 'GET 50 at a time, warm, each', ours: 'get50Direct', theirs: 'get50', times: 5 }),
    ],
  },
  {
    needs: 'coldDirect',
    make: (values) => [
      against(values, { name: 'GET from an empty cache', ours: 'coldDirect', theirs: 'cold', times: 0.5 }),
    ],
  },
  {
    needs: 'visits',
    make: (values) => [
      visit(values, 'first visit, the first answer of settee.fetch', 'first_direct', 'first_worker', 150),
      visit(values, '– of plain fetch', 'first_plain', 'first_serviceWorker', 250),
      visit(values, '– a database and a document by settee.fetch', 'first_write', 'first_pouchdb'),
      visit(values, 'second visit, the first answer of settee.fetch', 'second_direct', 'second_worker', 60),
      visit(values, '– of plain fetch', 'second_plain', 'second_serviceWorker'),
      visit(values, '– a document by settee.fetch', 'second_write', 'second_pouchdb'),
    ],
  },
  {
    needs: 'allDirect',
    make: (values) => [
      against(values, { name: `_all_docs of ${values.allDocsCount}`, ours: 'allDirect', theirs: 'all', times: 4 }),
      against(values, { name: '– with documents', ours: 'docsDirect', theirs: 'docs', times: 3 }),
    ],
  },
  {
    needs: 'attPutDirect',
    make: (values) => [
      against(values, { name: 'PUT of an attachment of 8 MiB', ours: 'attPutDirect', theirs: 'attPut', times: 3 }),
      against(values, { name: '– through the service worker', ours: 'attPutThrough', theirs: 'attPut', times: 3 }),
      against(values, { name: 'GET of an attachment of 8 MiB', ours: 'attGetDirect', theirs: 'attGet', times: 3 }),
      against(values, { name: '– through the service worker', ours: 'attGetThrough', theirs: 'attGet', times: 3 }),
    ],
  },
  {
    needs: 'viewsDirect',
    make: (values) => [
      against(values, {
        name: `first query of 3 views, ${values.viewsCount} documents, PouchDB once`,
        ours: 'viewsDirect',
        theirs: 'views',
        times: 20,
        remark: `the very first, with the sandbox's loading, ${values.viewsFirst.toFixed(0)} ms`,
      }),
      against(values, {
        name: `_sum of ${values.sumCount} rows`,
        ours: 'sumDirect',
        theirs: 'sum',
        times: 100,
      }),
    ],
  },
  { needs: 'getThrough', make: (values, engine) => [throughServiceWorker(values, engine)] },
  {
    needs: 'untouchedControlled',
    make: (values) => [
      {
        name: 'a request that is not below the base',
        ours: values.untouchedControlled,
        floor: values.untouchedFree,
        floorName: 'no service worker',
        unit: 'ms',
        asked: { atMost: 1.1 },
        note: `${values.untouchedRouted.toFixed(2)} ms with a service worker that only says that all goes to the network`,
      },
    ],
  },
  {
    needs: 'openDirect',
    make: (values) => [
      against(values, {
        name: `opening ${values.largeCount} documents, start() to the first GET`,
        ours: 'openDirect',
        theirs: 'open',
        times: 2,
      }),
      { name: '– in all', ours: values.openDirect, unit: 'ms', asked: { atMost: 200 } },
      {
        name: 'longest PUT while checkpoints run',
        ours: values.longestPut,
        unit: 'ms',
        asked: { atMost: 100 },
        note: `median ${values.medianPut.toFixed(2)}`,
      },
    ],
  },
  {
    needs: 'pullDirect',
    make: (values) => [
      against(values, {
        name: `pull of ${values.pullCount} documents from a Node server`,
        ours: 'pullDirect',
        theirs: 'pull',
        times: 5,
      }),
      {
        name: `memory for a pull of ${values.pullManyCount}: growth of the page's process, with its workers`,
        ours: values.pullManyMegabytes,
        unit: 'MB',
        asked: { atMost: 150 },
        note: `${(values.pullManyMs / 1_000).toFixed(1)} s`,
      },
    ],
  },
];

const VISIT_FLOORS = {
  worker: 'a worker that stores a text',
  serviceWorker: 'a service worker that does nothing',
  pouchdb: 'PouchDB indexeddb',
};

/** Asked are milliseconds, so that what is beside it is in the remark. */
function visit(values, name, ours, beside, atMost) {
  const note = `${VISIT_FLOORS[beside.split('_')[1]]}: ${values[beside].toFixed(0)} ms`;
  return { name, ours: values[ours], unit: 'ms', note, ...(atMost === undefined ? {} : { asked: { atMost } }) };
}

/** Also what a constant costs that the service worker asks of a worker: the least that a database in a worker could cost. */
function throughServiceWorker({ getThrough, getConstant, getByPort, getByChannel }, engine) {
  const fromWorker = Math.min(getByPort, getByChannel);
  const name = 'GET through the service worker';
  if (engine === 'chromium') {
    const note = `${fromWorker.toFixed(2)} ms where it asks a worker for the constant`;
    const floor = { floor: getConstant, floorName: 'service worker with a constant' };
    return { name, ours: getThrough, ...floor, unit: 'ms', asked: { atMost: 1.2 }, note };
  }
  const [ours, constant, asked] = [getThrough, getConstant, fromWorker].map((ms) => ms.toFixed(2));
  const note = `${ours} with ours, ${constant} with a constant, ${asked} with one that it asks a worker for`;
  return {
    name: `${name}, beyond a constant`,
    ours: getThrough - getConstant,
    unit: 'ms',
    asked: { atMost: 0.5 },
    note,
  };
}

export function toFigures(values, engine) {
  return rows
    .filter(({ needs }) => values[needs] !== undefined)
    .flatMap(({ make }) => make(values, engine))
    .map(figure);
}
