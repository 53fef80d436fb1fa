/**
 * What counting requests costs, with the samples that are taken of the counts, and the log that writes none: the middleware of statistics around a handler that does
 * nothing, against that handler alone. Built by `run.mjs`. Output: `{ "us" }` for each request, as JSON.
 */

import { systemClock } from '../../src/base/shared/clock.ts';
import { Counters } from '../../src/base/system/counters.ts';
import { createLog, followLogLevel } from '../../src/base/system/log.ts';
import { Statistics } from '../../src/base/system/statistics.ts';
import { createConfig } from '../../src/core/config/config-store.ts';
import { countRequests } from '../../src/http/middleware/every-request.ts';
import type { Handler } from '../../src/http/request/context.ts';

const COUNT = 300_000;
const ROUNDS = 9;

const gauges = { openDatabases: () => 1, openFiles: () => 1, clientsOfChanges: () => 0 };
// Ten samples a second: what is measured lasts for some seconds only, and is to have its share of them.
const config = createConfig({ stats: { rate: '100', samples: '[0, 60]' } });
const statistics = new Statistics(systemClock, config, new Counters(), gauges);
// As a server has it: the setting is read for each request.
const log = createLog({ level: followLogLevel(() => config), clock: systemClock, write: () => undefined });
// As much of a context as the middleware reads.
const context = {
  request: { method: 'GET' },
  services: { clock: systemClock, statistics, log },
} as Parameters<Handler>[0];
const answer: Handler = () => ({ status: 200, headers: {}, body: null });
const counted = countRequests(answer);

function usOf(handler: Handler): number {
  const began = performance.now();
  for (let n = 0; n < COUNT; n++) void handler(context);
  return ((performance.now() - began) / COUNT) * 1_000;
}

const costs = Array.from({ length: ROUNDS }, () => usOf(counted) - usOf(answer)).sort((one, other) => one - other);
process.stdout.write(JSON.stringify({ us: costs[Math.floor(ROUNDS / 2)] }));
