/**
 * Owns the settings of a running service (docs/http.md#settings): which value holds, who may change it, and who is told. What settings
 * there are is for `known-settings.ts`; values are strings, and are parsed by whoever reads them (`system/config.ts`).
 */
import { DatabaseError } from '../errors/database-error.ts';
import { Notifier } from '../shared/notifier.ts';
import type { Config, ConfigChange, ConfigOptions, ConfigStore, Log, Settings } from '../system/contract.ts';
import { silentLog } from '../system/log.ts';
import type { ConfigStorage } from './contract.ts';
import { checkSetting, DEFAULT_SETTINGS } from './known-settings.ts';

/** Values by section and key. Null hides what a layer below has. */
type Layer = Map<string, Map<string, string | null>>;

/** The given settings over the defaults. Fails with `bad_request` where one of ours has a value it can't have. */
export function createConfig(given: Settings = {}, log: Log = silentLog): SettingsStore {
  return new SettingsStore(given, log);
}

export class SettingsStore implements ConfigStore {
  readonly #defaults = toLayer(DEFAULT_SETTINGS);
  /** What is kept from one start to the next. */
  readonly #kept: Layer = new Map();
  /** What the start was given: flags, the environment, the app. */
  readonly #given: Layer;
  /** Changes that last until the end. */
  readonly #temporary: Layer = new Map();
  /** All layers in one, since every request asks. */
  readonly #effective = new Map<string, Map<string, string>>();
  readonly #listeners = new Notifier<ConfigChange>();
  readonly #log: Log;
  #storage: ConfigStorage | undefined;
  /** Changes happen one after another. */
  #changes: Promise<unknown> = Promise.resolve();

  constructor(given: Settings, log: Log) {
    this.#given = toLayer(given);
    this.#log = log;
    for (const layer of [this.#defaults, this.#given]) {
      for (const [section, key] of entriesOf(layer)) this.#apply(section, key);
    }
    for (const [section, key] of entriesOf(this.#given)) checkSetting(this, section, key);
  }

  get(section: string, key: string): string | undefined {
    return this.#effective.get(section)?.get(key);
  }

  section(name: string): Readonly<Record<string, string>> {
    return Object.fromEntries([...(this.#effective.get(name) ?? [])].sort(byName));
  }

  sections(): Settings {
    const names = [...this.#effective.keys()].sort();
    return Object.fromEntries(names.map((name) => [name, this.section(name)]));
  }

  onChange(listener: (change: ConfigChange) => void): () => void {
    return this.#listeners.listen((change) => {
      try {
        listener(change);
      } catch (error) {
        this.#log.error(`The change of ${change.section}/${change.key} could not be followed.`, error);
      }
    });
  }

  set(section: string, key: string, value: string, options: ConfigOptions = {}): Promise<string | undefined> {
    return this.#inOrder(async () => {
      checkText(section, key, value);
      checkSetting(this.#with(section, key, value), section, key);
      return this.#change(section, key, value, options);
    });
  }

  delete(section: string, key: string, options: ConfigOptions = {}): Promise<string | undefined> {
    return this.#inOrder(() => this.#change(section, key, undefined, options));
  }

  /**
   * Takes what the storage keeps, and keeps changes there from now on. `onInvalid` is told of a kept value that the setting can't have, which
   * is left out then; without it that fails. Call it once.
   */
  keepIn(storage: ConfigStorage, onInvalid?: (failure: DatabaseError) => void): Promise<void> {
    return this.#inOrder(async () => {
      const kept = toLayer(await storage.load());
      for (const [section, key, value] of entriesOf(kept)) {
        try {
          checkSetting(this.#with(section, key, value), section, key);
        } catch (error) {
          if (!(error instanceof DatabaseError) || onInvalid === undefined) throw error;
          onInvalid(error);
          kept.get(section)?.delete(key);
        }
      }
      this.#storage = storage;
      for (const [section, key, value] of entriesOf(kept)) {
        put(this.#kept, section, key, value);
        this.#notice(section, key);
      }
    });
  }

  #inOrder<T>(change: () => Promise<T>): Promise<T> {
    const changed = this.#changes.then(change);
    this.#changes = changed.catch(() => undefined);
    return changed;
  }

  async #change(
    section: string,
    key: string,
    value: string | undefined,
    { persist = true }: ConfigOptions,
  ): Promise<string | undefined> {
    const before = this.get(section, key);
    if (persist) {
      if (has(this.#given, section, key)) throw givenAtStart(section, key);
      if (value !== undefined || has(this.#kept, section, key)) await this.#storage?.write(section, key, value);
      put(this.#kept, section, key, value);
      put(this.#temporary, section, key, undefined);
    } else put(this.#temporary, section, key, value ?? null);
    this.#notice(section, key);
    return before;
  }

  /** Makes hold what the layers say, and tells of it where it is another value. */
  #notice(section: string, key: string): void {
    const before = this.get(section, key);
    this.#apply(section, key);
    const value = this.get(section, key);
    if (value !== before) this.#listeners.notify({ section, key, value, before });
  }

  #apply(section: string, key: string): void {
    const layers = [this.#temporary, this.#given, this.#kept];
    const found = layers
      .find((layer) => has(layer, section, key))
      ?.get(section)
      ?.get(key);
    const value = found ?? this.#defaults.get(section)?.get(key);
    put(this.#effective, section, key, value ?? undefined);
  }

  /** The settings as they would be with one more. */
  #with(section: string, key: string, value: string | null): Config {
    return { get: (s, k) => (s === section && k === key ? (value ?? undefined) : this.get(s, k)) };
  }
}

function toLayer(settings: Settings): Layer {
  return new Map(Object.entries(settings).map(([section, keys]) => [section, new Map(Object.entries(keys))]));
}

function entriesOf(layer: Layer): [section: string, key: string, value: string | null][] {
  return [...layer].flatMap(([section, keys]) =>
    [...keys].map(([key, value]): [string, string, string | null] => [section, key, value]),
  );
}

function has(layer: Layer, section: string, key: string): boolean {
  return layer.get(section)?.has(key) === true;
}

function put<T>(layer: Map<string, Map<string, T>>, section: string, key: string, value: T | undefined): void {
  const keys = layer.get(section) ?? new Map<string, T>();
  if (value === undefined) keys.delete(key);
  else keys.set(key, value);
  if (keys.size === 0) layer.delete(section);
  else layer.set(section, keys);
}

function byName([left]: readonly [string, string], [right]: readonly [string, string]): number {
  return left < right ? -1 : 1;
}

/** No file of lines could keep a line break, and none of these means anything in a setting. */
const CONTROLS = /\p{Cc}|\p{Cs}/u;
const LONGEST_NAME = 1_024;
const LONGEST_VALUE = 65_536;

function checkText(section: string, key: string, value: string): void {
  for (const name of [section, key]) {
    if (name === '') throw new DatabaseError('bad_request', 'A setting has the name of a section and that of a key.');
    if (CONTROLS.test(name) || name.length > LONGEST_NAME) {
      const reason = `Names of settings have at most ${LONGEST_NAME} characters, and no line breaks or other control characters.`;
      throw new DatabaseError('bad_request', reason);
    }
  }
  if (CONTROLS.test(value) || value.length > LONGEST_VALUE) {
    const reason = `The value of ${section}/${key} can't be kept: it must have at most ${LONGEST_VALUE} characters, and no line breaks or other control characters.`;
    throw new DatabaseError('bad_request', reason);
  }
}

function givenAtStart(section: string, key: string): DatabaseError {
  const reason = `Setting ${section}/${key} was given when the service was started, which wins over what is kept here: start it without that, or change the setting until the next start, with the header X-Svc-Persist: false.`;
  return new DatabaseError('modification_not_allowed', reason);
}
