/**
 * What the whole service shares: settings, log, running tasks. Setting names are those of the configuration interface
 * (docs/http.md#settings); values are strings there, parsed where they are read.
 */
export interface Config {
  get(section: string, key: string): string | undefined;
}

/** ERROR: a developer must look. INFO: the state changed. DEBUG: all else. Never document bodies or credentials. */
export interface Log {
  error(message: string, cause?: unknown): void;
  info(message: string): void;
  debug(message: string): void;
}

export interface ActiveTask {
  readonly type: string;
  readonly database: string;
  update(changesDone: number, totalChanges: number): void;
  end(): void;
}
