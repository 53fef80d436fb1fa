/**
 * Two builds side by side: this one and that of another commit. In each generation every build gets a fresh process, this one two, since a
 * process that happens to be optimised otherwise is slower for its whole life. Within a generation the builds take turns, round by round. What this
 * build differs from itself is the noise.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { median } from '../figures.mjs';
import { BUILDS, inTurn, isLoss, noiseOf, ratioOf, short, toLines } from './ratios.mjs';
import { requestKinds, Session } from './request-kinds.mjs';

/**
 * `start(build, nodeArguments)` starts a server of a build: `former` or `current`. Gives a row for each kind of requests:
 * milliseconds and CPU microseconds a request of both, the ratio of the CPU times (above 1: less than before), the noise, and counts.
 */
export async function compare({ start, generations, rounds, only }) {
  const kinds = requestKinds.map((kind) => ({
    ...kind,
    isChosen: only.length === 0 || only.some((word) => kind.name.includes(word)),
  }));
  const measured = kinds.map(() => Object.fromEntries(BUILDS.map((build) => [build, []])));
  for (let generation = 0; generation < generations; generation++) {
    process.stderr.write(`generation ${generation + 1} of ${generations} …\n`);
    await runGeneration(start, kinds, rounds, measured);
  }
  const counts = {
    former: await countRequests(start, 'former', kinds),
    current: await countRequests(start, 'current', kinds),
  };
  return kinds.flatMap((kind, index) =>
    kind.isChosen && !kind.isMissing
      ? [toRow(kind.name, measured[index], { former: counts.former[index], current: counts.current[index] })]
      : [],
  );
}

async function runGeneration(start, kinds, rounds, measured) {
  const sessions = {};
  for (const build of BUILDS) sessions[build] = await openSession(start, build, []);
  for (const [index, kind] of kinds.entries()) {
    if (kind.isMissing) continue;
    const values = Object.fromEntries(BUILDS.map((build) => [build, []]));
    const mayFollowMissing = kinds.some(({ isMissing }) => isMissing);
    if (!(await beginKind(sessions, kind, mayFollowMissing)) || !kind.isChosen) continue;
    for (let round = 1; round <= rounds; round++) {
      for (const build of inTurn(round)) {
        values[build].push(await measure(sessions[build], kind, round));
      }
    }
    for (const build of BUILDS) {
      const of = (what) => median(values[build].map((cost) => cost[what]));
      measured[index][build].push({ ms: of('ms'), all: of('all'), main: of('main') });
    }
  }
  for (const session of Object.values(sessions)) await endSession(session);
}

/**
 * Prepares all builds, and warms them up. Returns false if the former build does not have this kind of requests, or if the kind needs what one that
 * was left out would have prepared: it is left out then, too.
 */
async function beginKind(sessions, kind, mayFollowMissing) {
  for (const build of BUILDS) {
    try {
      await kind.prepare?.(sessions[build]);
      if (kind.isChosen) await kind.run(sessions[build], 0);
    } catch (error) {
      if (build !== 'former' && !mayFollowMissing) throw error;
      process.stderr.write(`without ${kind.name}: ${error.message.split('\n', 1)[0]}\n`);
      kind.isMissing = true;
      return false;
    }
  }
  return true;
}

async function openSession(start, build, nodeArguments) {
  const server = await start(build === 'former' ? 'former' : 'current', nodeArguments);
  pin(server.pid, 1);
  return Session.open(server);
}

async function endSession(session) {
  session.close();
  await session.server.kill();
}

/** Server and client each keep a processor, where the system has `taskset`. */
export function pin(pid, cpu) {
  try {
    execFileSync('taskset', ['-a', '-c', '-p', String(cpu), String(pid)], { stdio: 'ignore' });
  } catch {
    // Without it the figures scatter more.
  }
}

async function measure(session, kind, round) {
  const before = cpuOf(session.server.pid);
  const startedAt = performance.now();
  await kind.run(session, round);
  const ms = (performance.now() - startedAt) / kind.count;
  const after = cpuOf(session.server.pid);
  return { ms, all: (after.all - before.all) / kind.count, main: (after.main - before.main) / kind.count };
}

/** Microseconds of processor time so far: of all threads, and of the main one. */
function cpuOf(pid) {
  const ofTask = (task) => {
    try {
      return Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]) / 1_000;
    } catch {
      return 0;
    }
  };
  const tasks = readdirSync(`/proc/${pid}/task`);
  return { all: tasks.reduce((sum, task) => sum + ofTask(task), 0), main: ofTask(String(pid)) };
}

/** A round that warms up, then one that is counted. */
async function countRequests(start, build, kinds) {
  const session = await openSession(start, build, ['--import', new URL('counter.mjs', import.meta.url).href]);
  const counts = [];
  for (const kind of kinds) {
    if (!kind.isMissing) await kind.prepare?.(session);
    if (!kind.isChosen || kind.isMissing) {
      counts.push({});
      continue;
    }
    await kind.run(session, 0);
    await session.server.exchange('begin');
    await kind.run(session, 1);
    const total = await session.server.exchange('end');
    counts.push(Object.fromEntries(Object.entries(total).map(([what, count]) => [what, count / kind.count])));
  }
  await endSession(session);
  return counts;
}

function toRow(name, values, counts) {
  const valuesOf = (what) =>
    Object.fromEntries(BUILDS.map((build) => [build, values[build].map((value) => value[what])]));
  const [ms, all] = [valuesOf('ms'), valuesOf('all')];
  const ratio = { ms: ratioOf(ms), all: ratioOf(all) };
  const noise = { ms: noiseOf(ms), all: noiseOf(all) };
  const medians = (...builds) => {
    const of = (what) => median(builds.flatMap((build) => valuesOf(what)[build]));
    return { ms: of('ms'), all: of('all'), main: of('main') };
  };
  return {
    name,
    former: medians('former'),
    current: medians('current', 'twin'),
    ratio,
    noise,
    counts,
    // Time alone says little on a loaded machine.
    isLoss: isLoss(ratio.ms, noise.ms) && isLoss(ratio.all, noise.all),
  };
}

export function toTable(rows) {
  const cells = rows.map(({ name, former, current, ratio, noise, counts, isLoss }) => [
    name,
    `${short(former.ms * 1_000)} → ${short(current.ms * 1_000)}`,
    `${ratio.ms.toFixed(2)} ± ${noise.ms.toFixed(2)}`,
    `${short(former.all)}/${short(former.main)} → ${short(current.all)}/${short(current.main)}`,
    `${ratio.all.toFixed(2)} ± ${noise.all.toFixed(2)}`,
    ...['promises', 'timers', 'immediates', 'calls'].map(
      (what) => `${short(counts.former[what] ?? 0)} → ${short(counts.current[what] ?? 0)}`,
    ),
    isLoss ? 'SLOWER' : '',
  ]);
  const titles = [
    '',
    'µs a request',
    'ratio',
    'CPU µs, all/main',
    'ratio',
    'promises',
    'timers',
    'immediates',
    'own calls',
    '',
  ];
  return toLines(titles, cells);
}
