/** Asks for what no option says. */
import { RefusalError } from './checks.mjs';
import { DEFAULTS, FRAMEWORKS } from './frameworks.mjs';

const OPTIONS = { target: 'the folder', framework: '--framework', server: '--server or --no-server' };

/**
 * Returns the choices with a value for each. `check` throws a RefusalError for a folder that can't be taken; it is asked for again. Without `ask`,
 * the defaults count if `yes` was given; otherwise it throws a RefusalError.
 */
export async function completeChoices(options, ask, check) {
  const missing = ['target', 'framework', 'server'].filter((name) => options[name] === undefined);
  if (options.yes || missing.length === 0) return { ...DEFAULTS, ...defined(options) };
  if (ask === undefined) {
    throw new RefusalError(
      `No one can answer questions here, because the input is not a terminal. What is missing: ${missing.map((name) => OPTIONS[name]).join(', ')}. Give these, or --yes for the defaults; see --help.`,
    );
  }
  try {
    return await askAll(defined(options), ask, check);
  } catch (error) {
    if (error?.name === 'AbortError') throw new RefusalError('\nNothing was made.');
    throw error;
  }
}

async function askAll(options, ask, check) {
  const target = options.target ?? (await askForTarget(ask, check));
  const framework = options.framework ?? (await askForFramework(ask));
  const server = options.server ?? (await askForServer(ask));
  return { ...options, target, framework, server };
}

function askForTarget(ask, check) {
  return askUntil(ask, `Name of the app, or its folder (${DEFAULTS.target}): `, (answer) => {
    const target = answer === '' ? DEFAULTS.target : answer;
    try {
      check(target);
      return { value: target };
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      return { remark: error.message };
    }
  });
}

function askForFramework(ask) {
  const names = Object.keys(FRAMEWORKS);
  const list = names.map((name, index) => `  ${index + 1} ${FRAMEWORKS[name].title}`).join('\n');
  return askUntil(ask, `Framework:\n${list}\nNumber or name (1): `, (answer) => {
    const value = answer === '' ? DEFAULTS.framework : (names[Number(answer) - 1] ?? answer.toLowerCase());
    return names.includes(value) ? { value } : { remark: `Please answer with a number from 1 to ${names.length}.` };
  });
}

function askForServer(ask) {
  return askUntil(ask, 'With a server of your own, for log-in and sync between devices? (y/N): ', (answer) => {
    if (/^(n|no|)$/i.test(answer)) return { value: false };
    return /^(y|yes)$/i.test(answer) ? { value: true } : { remark: 'Please answer y or n.' };
  });
}

/** `read` returns a `value`, or a `remark` that precedes the next try. */
async function askUntil(ask, question, read) {
  let remark = '';
  for (;;) {
    const { value, remark: next } = read((await ask(`${remark}${question}`)).trim());
    if (next === undefined) return value;
    remark = `${next}\n`;
  }
}

function defined(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
