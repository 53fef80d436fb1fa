/**
 * The bench page: runs the scenarios one after another and posts the medians. Scenarios that need a page of their own
 * (an opening from nothing) go on in the same tab after a reload; what was found so far is kept for the session.
 */
import { start } from 'settee';
import { attachments } from './attachments.mjs';
import { coldReads } from './cold.mjs';
import { large } from './large.mjs';
import { replication } from './replication.mjs';
import { throughServiceWorker, untouched } from './service-worker.mjs';
import { views } from './views.mjs';
import { visits } from './visits.mjs';
import { allDocs, bulk, get, put } from './with-pouchdb.mjs';

const scenarios = {
  bulk,
  put,
  get,
  cold: coldReads,
  visits,
  'all-docs': allDocs,
  attachments,
  views,
  'service-worker': throughServiceWorker,
  others: untouched,
  large,
  replication,
};

const parameters = new URLSearchParams(location.search);

class Bench {
  isQuick = parameters.has('quick');
  otherOrigin = parameters.get('other');
  base = '/db/';
  values = JSON.parse(sessionStorage.getItem('values') ?? '{}');
  settee;

  size(whole, quick) {
    return this.isQuick ? quick : whole;
  }

  async start() {
    this.settee = await start({ base: this.base });
  }

  /** Goes on with the same scenario in a fresh page. Never resolves. */
  reload(state) {
    sessionStorage.setItem('values', JSON.stringify(this.values));
    sessionStorage.setItem('state', JSON.stringify(state));
    location.reload();
    return new Promise(() => {});
  }

  /** Of the process that serves this page. */
  async ask(path, value = null) {
    const answer = await fetch(path, { method: 'POST', body: JSON.stringify(value) });
    return answer.json();
  }

  tell(text) {
    return fetch('/progress', { method: 'POST', body: text });
  }
}

const bench = new Bench();
try {
  await runAll();
  await fetch('/results', {
    method: 'POST',
    body: JSON.stringify({ values: bench.values, userAgent: navigator.userAgent }),
  });
} catch (error) {
  await fetch('/failure', { method: 'POST', body: `${error}\n${error.stack}` });
}

async function runAll() {
  const only = parameters.getAll('only');
  const names = Object.keys(scenarios).filter((name) => only.length === 0 || only.includes(name));
  const state = JSON.parse(sessionStorage.getItem('state') ?? 'null');
  const first = Math.max(0, names.indexOf(state?.scenario));
  for (const [index, name] of names.slice(first).entries()) {
    const resumed = index === 0 && state?.scenario === name ? state : undefined;
    if (resumed === undefined) await bench.tell(`${name} …`);
    sessionStorage.removeItem('state');
    Object.assign(bench.values, await scenarios[name](bench, resumed));
  }
}
