/** The dashboard and the alerts of docs/operations: each metric and label is one that a server has. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Counters } from '../../../src/base/system/counters.ts';
import { metricsOf } from '../../../src/node/cluster/reported.ts';
import { type RunningServer, startServer } from '../../../src/node/server/server.ts';
import { mayBeMissing, newSchema, postgresUrl } from '../../support/postgres/postgres.ts';
import { readPage, repository } from './pages.ts';

const run = promisify(execFile);
const read = (name: string) => readFileSync(join(repository, 'docs/operations', name), 'utf8');
const dashboard = JSON.parse(read('grafana-dashboard.json'));
const alertsFile = join(repository, 'docs/operations/prometheus-alerts.yaml');
const alerts = read('prometheus-alerts.yaml');
const page = readPage('docs/operations.md').text;

interface Target {
  readonly expr: string;
  readonly legendFormat: string;
}
interface Panel {
  readonly title: string;
  readonly type: string;
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly Target[];
}
const panels: readonly Panel[] = dashboard.panels;
const targets = panels.flatMap((panel) => panel.targets ?? []);
const rules = [...alerts.matchAll(/- alert: (\w+)\n +expr: (.*)\n/g)].map(([, name = '', expr = '']) => ({
  name,
  expr,
}));

/** By name: the labels, each with its values. */
type Known = Map<string, Map<string, Set<string>>>;
const known: Known = new Map();
/** Prometheus adds these. */
const OF_PROMETHEUS = new Set(['job', 'instance']);

function learn(text: string): void {
  for (const [, name = '', labels = ''] of text.matchAll(/^(svc_\w+)(?:\{(.*)\})? \S+$/gm)) {
    const found = known.get(name) ?? new Map<string, Set<string>>();
    known.set(name, found);
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
      found.set(label, (found.get(label) ?? new Set()).add(value));
    }
  }
}

/** Metrics with their labels, and the labels by which results are grouped. */
function partsOf(expr: string) {
  const metrics = [...expr.matchAll(/\b(svc_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', labels = '']) => ({
    name,
    labels: [...labels.matchAll(/(\w+)=~?"([^"]*)"/g)].map(([, label = '', value = '']) => ({ label, value })),
  }));
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, ?/));
  return { metrics, grouped };
}

const servers: RunningServer[] = [];
const storage = await postgresUrl();
if (storage === undefined) mayBeMissing();

async function metricsFrom(server: RunningServer): Promise<string> {
  servers.push(server);
  return (await fetch(`${server.url}_node/_local/_prometheus`)).text();
}

beforeAll(async () => {
  const server = await startServer({ port: 0, memory: true, logLevel: 'none' });
  await fetch(`${server.url}db`, { method: 'PUT' });
  learn(await metricsFrom(server));
  if (storage !== undefined) {
    const options = { port: 0, storage: await newSchema(storage), cluster: true, logLevel: 'none' } as const;
    learn(await metricsFrom(await startServer(options)));
    // Only while a standby server has something to receive.
    learn('svc_storage_replica_lag_seconds 0\n');
  }
  const readers = () => ({ accepting: 1, restarts: 0, ownerRestarts: 0 });
  const none = { shared: undefined, cluster: () => undefined, registry: () => undefined, counters: new Counters() };
  for (const { name } of metricsOf({ role: 'owner', readers, ...none })?.() ?? []) learn(`svc_${name} 0\n`);
  // With the role `member`.
  learn('svc_cluster_lag_seconds 0\n');
});

afterAll(async () => {
  for (const server of servers) await server.close();
});

/** Those of other servers than the one in memory. */
function mayBeUnknown(name: string): boolean {
  return storage === undefined && /^svc_(storage|cluster|role)/.test(name);
}

function check(expr: string, legend = ''): void {
  const { metrics, grouped } = partsOf(expr);
  const named = new Set(metrics.flatMap(({ name }) => [...(known.get(name)?.keys() ?? [])]));
  for (const { name, labels } of metrics) {
    if (mayBeUnknown(name)) continue;
    const found = known.get(name);
    expect(found, `${name} in ${expr}`).toBeDefined();
    for (const { label, value } of labels.filter((one) => !OF_PROMETHEUS.has(one.label))) {
      expect(found?.has(label), `${label} of ${name}`).toBe(true);
      for (const one of value.split('|')) expect([...(found?.get(label) ?? [])], `${name}{${label}}`).toContain(one);
    }
  }
  if (metrics.some(({ name }) => mayBeUnknown(name))) return;
  const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
  for (const label of [...grouped, ...shown]) {
    expect(OF_PROMETHEUS.has(label) || named.has(label), `${label} in ${expr}`).toBe(true);
  }
  if (/\bsum by /.test(expr)) for (const label of shown) expect(grouped).toContain(label);
}

describe('the dashboard', () => {
  test('has metrics and labels that a server has, of the servers that were chosen', () => {
    expect(targets.length).toBeGreaterThan(40);
    for (const { expr, legendFormat } of targets) {
      check(expr, legendFormat);
      for (const { labels } of partsOf(expr).metrics) {
        expect(labels.slice(0, 2), expr).toEqual([
          { label: 'job', value: '$job' },
          { label: 'instance', value: '$instance' },
        ]);
      }
    }
  });

  test('shows every metric', () => {
    const shown = new Set(targets.flatMap(({ expr }) => partsOf(expr).metrics.map(({ name }) => name)));
    const missing = [...known.keys()].filter((name) => !shown.has(name));
    expect(missing).toEqual([]);
  });

  test('can be imported: a data source and servers are chosen, and ids are unique', () => {
    expect(dashboard.templating.list.map(({ name }: { name: string }) => name)).toEqual([
      'datasource',
      'job',
      'instance',
    ]);
    for (const panel of panels.filter(({ type }) => type !== 'row')) {
      expect(panel.datasource?.uid, panel.title).toMatch(/^\$\{datasource\}$/);
    }
    const ids = dashboard.panels.map(({ id }: { id: number }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(dashboard.id).toBeUndefined();
  });
});

describe('the alerts', () => {
  test('have metrics and labels that a server has', () => {
    expect(rules.length).toBe(alerts.match(/alert:/g)?.length);
    for (const { expr } of rules) check(expr);
  });

  test('are explained on the page, each one', () => {
    const [, rows = ''] = /\| alert \| what it means.*?\n((?:\|.*\n)+)/.exec(page) ?? [];
    const explained = [...rows.matchAll(/`(Settee\w+)`/g)].map(([, name = '']) => name);
    expect(explained.sort()).toEqual(rules.map(({ name }) => name).sort());
  });

  test('come from a text that Prometheus reads, where its tool is installed', async ({ skip }) => {
    const text = await (await fetch(`${servers[0]?.url}_node/_local/_prometheus`)).text();
    const checking = execFile('promtool', ['check', 'metrics']);
    const ended = once(checking, 'exit').catch((error) => [error.code]);
    checking.stdin?.on('error', () => undefined).end(text);
    const [code] = await ended;
    if (code === 'ENOENT') skip('promtool is not installed');
    // 3: it dislikes a name, but could read everything.
    expect([0, 3]).toContain(code);
  });

  test('are rules for Prometheus, where its tool is installed', async ({ skip }) => {
    const found = await run('promtool', ['check', 'rules', alertsFile]).catch((error) => error);
    if (found.code === 'ENOENT') skip('promtool is not installed');
    expect(`${found.stdout}${found.stderr}`).toContain(`SUCCESS: ${rules.length} rules found`);
  });
});
