import { spawnSync } from 'node:child_process';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** The longest test that runs alone ends within a third of that on a loaded machine. */
const MINUTES_WITHOUT_A_RESULT = 25;

/**
 * Ends a run that is stuck, and names the files that are. A process whose thread is busy forever, or waits in native code, ignores
 * test timeouts, so that the run would have no end and report nothing.
 */
export default class StuckRun implements Reporter {
  /** The last test with a result, by the file that has not ended. */
  readonly #running = new Map<string, string>();
  #minutes = 0;
  #timer: NodeJS.Timeout | undefined;

  onTestRunStart(): void {
    this.#minutes = 0;
    // Minutes in which this process runs: while a machine sleeps, none pass.
    this.#timer = setInterval(() => {
      this.#minutes += 1;
      if (this.#minutes === MINUTES_WITHOUT_A_RESULT) this.#end();
    }, 60_000);
  }

  onTestModuleStart(module: TestModule): void {
    this.#running.set(nameOf(module), 'none');
  }

  onTestCaseResult({ module, fullName }: TestCase): void {
    this.#minutes = 0;
    this.#running.set(nameOf(module), fullName);
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(nameOf(module));
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer);
  }

  #end(): void {
    console.error(`\nNo test ended for ${MINUTES_WITHOUT_A_RESULT} minutes. The run is stuck in one of these files:`);
    for (const [file, test] of this.#running) console.error(`  ${file}, after the test: ${test}`);
    // A busy process reacts to nothing else.
    spawnSync('pkill', ['-KILL', '-P', String(process.pid)]);
    process.exit(1);
  }
}

/** The file, and the project, since each browser runs a file in one of its own. */
function nameOf({ relativeModuleId, project }: TestModule): string {
  return project.name === '' ? relativeModuleId : `${relativeModuleId} (${project.name})`;
}
