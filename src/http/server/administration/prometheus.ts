/** `_prometheus`: the statistics as Prometheus collects them (docs/http/server.md#prometheus), in its text format, version 0.0.4. */
import type { Metric } from '../../../base/system/contract.ts';
import type { Statistic } from '../../../base/system/counters.ts';
import { VERSION } from '../../../base/system/version.ts';
import type { Registry } from '../../../database/registry/contract.ts';
import type { Answer, Context } from '../../request/context.ts';
import { MUST_REVALIDATE } from '../../response/responses.ts';
import { descriptionOf } from './statistics.ts';

const TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Sections whose statistics are one metric with a label. */
const LABELS: Readonly<Record<string, string>> = { httpd_request_methods: 'method', httpd_status_codes: 'code' };

interface MetricLines {
  readonly name: string;
  readonly type: Metric['type'];
  readonly help: string;
  readonly lines: string[];
}

export async function answerPrometheus({ services }: Context): Promise<Answer> {
  const metrics = byName(services.statistics.list.map(metricOf));
  const info: MetricLines = {
    name: 'svc_info',
    type: 'gauge',
    help: 'the version that runs',
    lines: [`svc_info{version="${VERSION}"} 1`],
  };
  const host = (services.hostMetrics?.() ?? []).map(linesOf);
  const storage = ((await services.storageMetrics?.()) ?? []).map(linesOf);
  const bytes: MetricLines = {
    name: 'svc_database_bytes',
    type: 'gauge',
    help: 'bytes of the files of open databases by what they are for',
    lines: await databaseBytes(services.registry),
  };
  const sized = bytes.lines.length > 0 ? [bytes] : [];
  const text = [info, ...metrics, ...sized, ...byName([...host, ...storage])].map(textOf).join('');
  return { status: 200, headers: { 'content-type': TYPE, 'cache-control': MUST_REVALIDATE }, body: text };
}

/** Those of one name, whose labels differ, have one description. */
function byName(all: readonly MetricLines[]): Iterable<MetricLines> {
  const metrics = new Map<string, MetricLines>();
  for (const metric of all) {
    const known = metrics.get(metric.name);
    if (known === undefined) metrics.set(metric.name, metric);
    else known.lines.push(...metric.lines);
  }
  return metrics.values();
}

/** Opens no database: those that no one uses don't grow. */
async function databaseBytes(registry: Registry): Promise<string[]> {
  const lines: string[] = [];
  for (const name of registry.names()) {
    const found = await registry
      .peek(name)
      ?.info()
      .catch(() => undefined);
    // It was just closed.
    if (found === undefined) continue;
    const { diskSize, dataSize, oldSize: old, deletedSize: deleted } = found;
    const kinds = { live: dataSize - deleted, deleted, old, free: Math.max(0, diskSize - dataSize - old) };
    for (const [kind, bytes] of Object.entries(kinds)) {
      lines.push(`svc_database_bytes{database="${name}",kind="${kind}"} ${bytes}`);
    }
  }
  return lines;
}

function linesOf({ name: own, type, help, value, labels, count = 0 }: Metric): MetricLines {
  const name = `svc_${own}`;
  const lines =
    type === 'summary'
      ? [`${name}_sum ${value}`, `${name}_count ${count}`]
      : [`${name}${textOfLabels(labels)} ${value}`];
  return { name, type, help, lines };
}

function textOfLabels(labels: Metric['labels']): string {
  if (labels === undefined) return '';
  return `{${Object.entries(labels)
    .map(([label, value]) => `${label}="${value}"`)
    .join()}}`;
}

function metricOf(statistic: Statistic): MetricLines {
  const { section, id, kind, read } = statistic;
  const help = descriptionOf(statistic);
  const label = LABELS[section];
  if (label !== undefined) {
    const name = `svc_${section}_total`;
    return { name, type: 'counter', help: `by ${label}`, lines: [`${name}{${label}="${id}"} ${read()}`] };
  }
  const own = section === 'svc' ? `svc_${id}` : `svc_${section}_${id}`;
  if (kind === 'mean') {
    const name = `${own}_seconds`;
    const lines = [`${name}_sum ${read() / 1_000}`, `${name}_count ${statistic.readCount?.() ?? 0}`];
    return { name, type: 'summary', help: 'until requests were answered', lines };
  }
  const name = kind === 'count' ? `${own}_total` : own;
  return { name, type: kind === 'count' ? 'counter' : 'gauge', help, lines: [`${name} ${read()}`] };
}

function textOf({ name, type, help, lines }: MetricLines): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`;
}
