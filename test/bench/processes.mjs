/** Servers, and the baselines that they are compared with, as processes of their own, and what the system knows of them. */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const launcher = `
  const [build, ...words] = process.argv.slice(1);
  const { main } = await import(build);
  process.exitCode = await main(words);
`;

/** A server that listens on a port of its own. */
export class ServerProcess {
  #process;
  #exited;
  port = 0;

  /** Serves a data folder, or a storage in PostgreSQL, with the Settee that was built as `build`. `nodeArguments`: for a profile. */
  static startSettee(build, place, nodeArguments = []) {
    const home = place.startsWith('postgres:') ? '--storage' : '--data';
    const serve = [pathToFileURL(build).href, 'serve', '--port', '0', home, place, '--log-level', 'error'];
    return ServerProcess.#start([...nodeArguments, '--input-type=module', '-e', launcher, '--', ...serve]);
  }

  /** Runs a module of this folder that writes its URL to stdout. */
  static startModule(name, moduleArguments = []) {
    return ServerProcess.#start([fileURLToPath(new URL(name, import.meta.url)), ...moduleArguments]);
  }

  /** A PostgreSQL server of its own. `script`: the built postgres-server.ts. */
  static startPostgres(script) {
    return ServerProcess.#start([script]);
  }

  static async #start(commandLine) {
    const server = new ServerProcess();
    const child = spawn(process.execPath, commandLine, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    server.#process = child;
    server.#exited = once(child, 'exit');
    const endWithParent = () => child.kill('SIGKILL');
    process.once('exit', endWithParent);
    child.once('exit', () => process.off('exit', endWithParent));
    let output = '';
    for await (const text of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
      output += text;
      const [, port] = /\w+:\/\/(?:\w+@)?[\w.]+:(\d+)/.exec(output) ?? [];
      if (port === undefined) continue;
      server.port = Number(port);
      child.stdout.resume();
      return server;
    }
    throw new Error(`The server ended before it answered: ${output}`);
  }

  get pid() {
    return this.#process.pid;
  }

  /** In megabytes: memory of its own, and pages of mapped files, which the system takes back when it needs them. */
  memory() {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    const megabytes = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
    return { anonymous: megabytes('RssAnon'), file: megabytes('RssFile') };
  }

  /** For a server with code of ours in it: sends a message, gives the answer. */
  async exchange(message) {
    const answered = once(this.#process, 'message');
    this.#process.send(message);
    const [answer] = await answered;
    return answer;
  }

  async stop() {
    this.#process.kill('SIGTERM');
    await this.#exited;
  }

  async kill() {
    this.#process.kill('SIGKILL');
    await this.#exited;
  }
}

/** Looks at a server's memory ten times a second until `stop`; `highest` is the most of each kind so far. */
export function watchMemory(server) {
  const highest = { anonymous: 0, file: 0 };
  const look = () => {
    const { anonymous, file } = server.memory();
    highest.anonymous = Math.max(highest.anonymous, anonymous);
    highest.file = Math.max(highest.file, file);
  };
  look();
  const timer = setInterval(look, 100);
  return {
    highest,
    stop() {
      clearInterval(timer);
      return highest;
    },
  };
}

/** A module of this folder in a process of its own; its exported functions are called by name. See `answerCalls`. */
export class Worker {
  #process;

  static start(name) {
    const worker = new Worker();
    worker.#process = fork(fileURLToPath(new URL(name, import.meta.url)));
    return worker;
  }

  async call(name, ...values) {
    const ended = new AbortController();
    const next = (event) => once(this.#process, event, { signal: ended.signal });
    this.#process.send({ name, values });
    const failed = next('exit').then(([code]) => [{ failure: `the process ended with ${code}` }]);
    failed.catch(() => undefined);
    const [{ result, failure }] = await Promise.race([next('message'), failed]);
    ended.abort();
    if (failure !== undefined) throw new Error(`${name}: ${failure}`);
    return result;
  }

  stop() {
    this.#process.disconnect();
  }
}

/** The worker's side: answers the calls of its `Worker`, one after another. */
export function answerCalls(functions) {
  process.on('message', async ({ name, values }) => {
    try {
      process.send({ result: await functions[name](...values) });
    } catch (error) {
      process.send({ failure: String(error?.stack ?? error) });
    }
  });
}
