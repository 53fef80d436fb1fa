/**
 * The parts that the whole service shares: settings, log, running tasks. Setting names are those of the configuration interface
 * (docs/http/server.md#settings); values are strings there, and parsed where they are read.
 */
export interface Config {
  /** Returns the current value; undefined if the setting is unset. Fast: call it at each use rather than keep the result. */
  get(section: string, key: string): string | undefined;
}

/** Settings by section and key. */
export type Settings = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface SettingName {
  readonly section: string;
  readonly key: string;
}

/** A change, under our own name of the setting. */
export interface ConfigChange {
  readonly section: string;
  readonly key: string;
  /** The current value; undefined if the setting is unset. */
  readonly value: string | undefined;
  /** The previous value. */
  readonly before: string | undefined;
}

export interface ConfigOptions {
  /** False: the change lasts until the service is opened again, and is not stored. Default: true. */
  readonly persist?: boolean | undefined;
}

/**
 * The settings of a running service: values given at the start override stored ones, which override the defaults. Changes happen one after another,
 * each as a whole: first it is stored, then it takes effect, then the listeners are called in the order added; then the promise resolves.
 * A change that is refused, or can't be stored, changes nothing.
 */
export interface ConfigStore extends Config {
  /** Returns our own name of a setting, given that or a name of another server of the family. `set`, `delete` and `section` take such names, too. */
  ownName(section: string, key: string): SettingName;
  /** Returns a copy of all current settings, including defaults, under our own names, sorted by section and key. */
  sections(): Settings;
  /** Returns the settings of one section, which may be one of the family's; empty if it has none. */
  section(name: string): Readonly<Record<string, string>>;
  /**
   * Returns the previous value, undefined if it was unset. Fails with `bad_request` on a value that the setting can't have, on a setting that means
   * nothing here, on line breaks and other control characters; with `modification_not_allowed` if it was given at the start (flag, environment, the
   * app) and the change should persist: it would be lost at the next start.
   */
  set(section: string, key: string, value: string, options?: ConfigOptions): Promise<string | undefined>;
  /** Unsets the setting, so that its default applies if there is one. Returns the previous value, undefined if it was unset. Fails as `set` does. */
  delete(section: string, key: string, options?: ConfigOptions): Promise<string | undefined>;
  /**
   * Returns the settings as they would be with that value, or, if it is undefined, without the stored one. For reading only. Fails with
   * `bad_request` on a value that the setting can't have.
   */
  preview(section: string, key: string, value: string | undefined, options?: ConfigOptions): ConfigStore;
  /** A failing listener is logged, and the others are still called. Returns the function that removes the listener. */
  onChange(listener: (change: ConfigChange) => void): () => void;
}

/** Levels of entries that clients write. */
export type ClientLevel = 'error' | 'warning' | 'info' | 'debug';

/**
 * ERROR: a developer must look. WARNING: somebody may be attacking, such as a failed log-in. INFO: the state changed. DEBUG: everything else except
 * requests, which have their own level.
 * Never log document bodies or credentials.
 */
export interface Log {
  error(message: string, cause?: unknown): void;
  /** If absent, such entries are written at the level `info`: see `warn`. */
  warning?(message: string): void;
  info(message: string): void;
  debug(message: string): void;
  /** Writes an entry that a client sent, which must not displace the service's own entries. If absent, the entry is written by its level like all others. */
  client?(level: ClientLevel, message: string): void;
  /** Takes one request and how it was answered. The message is made only when it is written, since most services write none. */
  request?(message: () => string): void;
}

export interface ActiveTask {
  readonly type: string;
  readonly database: string;
  update(changesDone: number, totalChanges: number): void;
  end(): void;
}

/** A figure for monitoring, as `_prometheus` shows it (docs/http/server.md#prometheus). */
export interface Metric {
  /** In small letters, with `_` between words; it ends in the unit, and that of a counter in `_total`. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'summary';
  /** What it is, in a few words. */
  readonly help: string;
  readonly value: number;
  /** Default: none. Values must not contain quotes, backslashes or line ends. */
  readonly labels?: Readonly<Record<string, string>>;
  /** For a summary, whose `value` is the sum: how many values were summed. */
  readonly count?: number;
}

/**
 * Compresses bytes with gzip as they arrive, at a level from 1, the fastest, to 9, the smallest. Fails with the source's error; a
 * reader that stops early leaves nothing open.
 */
export type Gzip = (source: AsyncIterable<Uint8Array>, level: number) => AsyncIterable<Uint8Array>;

/** The system database whose documents request replications (docs/http/replication.md#replication-documents). */
export const REPLICATOR_DATABASE = '_replicator';
