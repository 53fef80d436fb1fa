/**
 * Loaded into a server before its own code (`node --import`): counts promises, timers, immediates and calls of the server's own functions. The parent
 * process sends `begin` and `end`; the answer to `end` has the counts between them. Counts don't depend on what else the machine does.
 */
import { createHook } from 'node:async_hooks';
import { Session } from 'node:inspector';

const counts = { promises: 0, timers: 0, immediates: 0 };
const kinds = { PROMISE: 'promises', Timeout: 'timers', Immediate: 'immediates' };
const hook = createHook({
  init(_id, type) {
    const kind = kinds[type];
    if (kind !== undefined) counts[kind]++;
  },
});

const inspector = new Session();
inspector.connect();
/** Answers at once: the session is with this thread itself. */
function post(method, parameters) {
  let answer;
  inspector.post(method, parameters, (error, result) => {
    if (error) throw new Error(error.message);
    answer = result;
  });
  return answer;
}

function ownCalls() {
  const { result } = post('Profiler.takePreciseCoverage');
  const own = result.filter(({ url }) => url.endsWith('/dist/node/main.js'));
  return own.flatMap(({ functions }) => functions).reduce((sum, { ranges: [whole] }) => sum + whole.count, 0);
}

function begin() {
  for (const kind of Object.keys(counts)) counts[kind] = 0;
  post('Profiler.enable');
  post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  ownCalls();
  hook.enable();
}

function end() {
  hook.disable();
  const calls = ownCalls();
  post('Profiler.stopPreciseCoverage');
  return { ...counts, calls };
}

process.on('message', (message) => {
  process.send(message === 'begin' ? (begin() ?? {}) : end());
});
process.channel?.unref();
