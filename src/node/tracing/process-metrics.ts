/** What `_prometheus` says about the process (docs/http/server.md#prometheus). */
import type { Metric } from '../../base/system/contract.ts';

const MICROSECONDS = 1e6;
const MILLISECONDS = 1e3;

export function processMetrics(): Metric[] {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const startedMs = Date.now() - process.uptime() * MILLISECONDS;
  return [
    { name: 'process_resident_memory_bytes', type: 'gauge', help: 'memory of the process', value: rss },
    { name: 'process_heap_used_bytes', type: 'gauge', help: 'of that, objects of JavaScript', value: heapUsed },
    {
      ...{ name: 'process_cpu_seconds_total', type: 'counter', help: 'processor time of the process' },
      value: (user + system) / MICROSECONDS,
    },
    {
      ...{ name: 'process_start_time_seconds', type: 'gauge', help: 'when the process started, since the epoch' },
      value: Math.round(startedMs / MILLISECONDS),
    },
  ];
}
