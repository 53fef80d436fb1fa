/**
 * Owns the settings of a running service (docs/http/server.md#settings): which value is effective, who may change it, and which listeners are called.
 * `known-settings.ts` lists the settings, and `setting-names.ts` their other names: internally, settings have only our own names. Values are
 * strings, which their users parse (`base/system/config.ts`).
 */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { Notifier } from '../../base/shared/notifier.ts';
import type {
  Config,
  ConfigChange,
  ConfigOptions,
  ConfigStore,
  Log,
  SettingName,
  Settings,
} from '../../base/system/contract.ts';
import { silentLog } from '../../base/system/log.ts';
import type { ConfigStorage } from './config-storage.ts';
import { checkSetting, DEFAULT_SETTINGS, type HostChecks } from './known-settings.ts';
import { Preview } from './preview.ts';
import { aliasesIn, namesOf, ownName } from './setting-names.ts';
import { assertMeaning, meaningless } from './setting-refusals.ts';

/** Resolves when others know that a setting is about to change. What it returns is called when the change is effective, or has failed. */
export type AnnounceChange = () => Promise<() => void>;

/** Values by section and key. Null hides the value of a lower layer. */
type Layer = Map<string, Map<string, string | null>>;

/**
 * Returns the given settings over the preset and the defaults. A preset (docs/node.md#presets) has other defaults. Fails with `bad_request` if one has an invalid value, means nothing here, or is given under two
 * names with different values. `hostChecks`: of the sections that only some hosts act on.
 */
export function createConfig(
  given: Settings = {},
  log: Log = silentLog,
  preset: Settings = {},
  hostChecks: HostChecks = {},
): SettingsStore {
  return new SettingsStore(given, log, preset, hostChecks);
}

export class SettingsStore implements ConfigStore {
  readonly #defaults: Layer;
  /** Settings that persist from one start to the next. */
  readonly #kept: Layer = new Map();
  /** Settings passed at the start: flags, the environment, the app. */
  readonly #given: Layer;
  /** Changes that last until the service ends. */
  readonly #temporary: Layer = new Map();
  /** All layers in one, since every request reads it. */
  readonly #effective = new Map<string, Map<string, string>>();
  readonly #listeners = new Notifier<ConfigChange>();
  readonly #log: Log;
  readonly #hostChecks: HostChecks;
  #storage: ConfigStorage | undefined;
  #announce: AnnounceChange | undefined;
  /** Changes happen one after another. */
  #changes: Promise<unknown> = Promise.resolve();

  constructor(given: Settings, log: Log, preset: Settings = {}, hostChecks: HostChecks = {}) {
    this.#hostChecks = hostChecks;
    this.#defaults = toLayer(DEFAULT_SETTINGS);
    for (const [section, key, value] of entriesOf(toLayer(preset))) put(this.#defaults, section, key, value);
    this.#given = toOwnLayer(given, (name, first, second) => {
      if (first.value !== second.value) throw givenTwice(name, first, second);
    });
    this.#log = log;
    for (const layer of [this.#defaults, this.#given]) {
      for (const [section, key] of entriesOf(layer)) this.#apply(section, key);
    }
    for (const [section, key] of [...entriesOf(toLayer(preset)), ...entriesOf(this.#given)]) {
      assertMeaning({ section, key });
      this.#check(this, section, key);
    }
  }

  #check(config: Config, section: string, key: string): void {
    checkSetting(config, section, key, this.#hostChecks);
  }

  /** Has every change announced before anything of it happens; it is refused if that fails. */
  announceTo(announce: AnnounceChange): void {
    this.#announce = announce;
  }

  get(section: string, key: string): string | undefined {
    return this.#effective.get(section)?.get(key);
  }

  ownName(section: string, key: string): SettingName {
    return ownName(section, key);
  }

  section(name: string): Readonly<Record<string, string>> {
    const keys = new Map(this.#effective.get(name));
    for (const [key, own] of aliasesIn(name, this.#names())) keys.set(key, this.get(own.section, own.key) ?? '');
    return Object.fromEntries([...keys].sort(byName));
  }

  sections(): Settings {
    const names = [...this.#effective.keys()].sort();
    return Object.fromEntries(names.map((name) => [name, this.section(name)]));
  }

  *#names(): Generator<SettingName> {
    for (const [section, keys] of this.#effective) for (const key of keys.keys()) yield { section, key };
  }

  onChange(listener: (change: ConfigChange) => void): () => void {
    return this.#listeners.listen((change) => {
      try {
        listener(change);
      } catch (error) {
        this.#log.error(
          `The setting ${change.section}/${change.key} was changed, but the change could not take effect; restart the service.`,
          error,
        );
      }
    });
  }

  set(section: string, key: string, value: string, options: ConfigOptions = {}): Promise<string | undefined> {
    return this.#inOrder(async () => {
      checkText(section, key, value);
      const name = ownName(section, key);
      assertMeaning({ section, key });
      this.#check(this.#with(name, value), name.section, name.key);
      return this.#change(name, value, options);
    });
  }

  delete(section: string, key: string, options: ConfigOptions = {}): Promise<string | undefined> {
    return this.#inOrder(async () => {
      const name = ownName(section, key);
      const next = this.#afterDeletion(name, options);
      // A default must also fit the other settings.
      if (next !== undefined) this.#check(this.#with(name, next), name.section, name.key);
      return this.#change(name, undefined, options);
    });
  }

  preview(section: string, key: string, value: string | undefined, options: ConfigOptions = {}): ConfigStore {
    const name = ownName(section, key);
    if (value !== undefined) {
      checkText(section, key, value);
      assertMeaning({ section, key });
      this.#check(this.#with(name, value), name.section, name.key);
    }
    return new Preview(this, name, value ?? this.#afterDeletion(name, options));
  }

  /**
   * Loads the stored settings, and stores changes from now on. `onInvalid` is called for an invalid stored value, which
   * is then ignored; without `onInvalid` loading fails. Stored settings that mean nothing here are kept and logged. Call it once.
   */
  keepIn(storage: ConfigStorage, onInvalid?: (failure: DatabaseError) => void): Promise<void> {
    return this.#inOrder(async () => {
      const kept = toOwnLayer(await storage.load(), (_name, first, second) => {
        const message = `${nameText(first)} and ${nameText(second)} are one setting under two names; the value of ${nameText(first)} counts.`;
        if (first.value === second.value) this.#log.info(message);
        else this.#log.error(message);
      });
      this.#logMeaningless(kept);
      this.#dropInvalid(kept, onInvalid);
      this.#storage = storage;
      for (const [section, key, value] of entriesOf(kept)) {
        put(this.#kept, section, key, value);
        this.#notice(section, key);
      }
    });
  }

  #logMeaningless(kept: Layer): void {
    for (const [section, key] of entriesOf(kept)) {
      const found = meaningless(section, key);
      const message = `A stored setting has no effect. ${found?.reason}`;
      if (found?.isGrave) this.#log.error(message);
      else if (found !== undefined) this.#log.info(message);
    }
  }

  /** Each is checked together with all other stored settings, since some bound each other. */
  #dropInvalid(kept: Layer, onInvalid: ((failure: DatabaseError) => void) | undefined): void {
    const layers = [this.#temporary, this.#given, kept, this.#defaults];
    const all: Config = { get: (section, key) => valueIn(layers, section, key) };
    for (const [section, key] of entriesOf(kept)) {
      try {
        this.#check(all, section, key);
      } catch (error) {
        if (!(error instanceof DatabaseError) || onInvalid === undefined) throw error;
        onInvalid(error);
        put(kept, section, key, undefined);
      }
    }
  }

  #inOrder<T>(change: () => Promise<T>): Promise<T> {
    const changed = this.#changes.then(change);
    this.#changes = changed.catch(() => undefined);
    return changed;
  }

  async #change(
    { section, key }: SettingName,
    value: string | undefined,
    { persist = true }: ConfigOptions,
  ): Promise<string | undefined> {
    const before = this.get(section, key);
    if (persist && has(this.#given, section, key)) throw givenAtStart(section, key);
    const end = await this.#announce?.();
    if (persist) {
      if (value !== undefined || has(this.#kept, section, key)) {
        await this.#storage?.write(namesOf({ section, key }), value).catch((error: unknown) => {
          end?.();
          throw error;
        });
      }
      put(this.#kept, section, key, value);
      put(this.#temporary, section, key, undefined);
    } else put(this.#temporary, section, key, value ?? null);
    this.#notice(section, key, end);
    return before;
  }

  /** Makes the layers' value effective, and calls the listeners if it has changed. */
  #notice(section: string, key: string, end?: () => void): void {
    const before = this.get(section, key);
    this.#apply(section, key);
    end?.();
    const value = this.get(section, key);
    if (value !== before) this.#listeners.notify({ section, key, value, before });
  }

  #apply(section: string, key: string): void {
    const layers = [this.#temporary, this.#given, this.#kept, this.#defaults];
    put(this.#effective, section, key, valueIn(layers, section, key));
  }

  /** Returns the value after a deletion: the one without the stored change, or, for a change that lasts until the end, the default. */
  #afterDeletion({ section, key }: SettingName, { persist = true }: ConfigOptions): string | undefined {
    return valueIn(persist ? [this.#given, this.#defaults] : [this.#defaults], section, key);
  }

  /** Returns the settings as they would be with one more. */
  #with(name: SettingName, value: string | undefined): Config {
    return { get: (s, k) => (s === name.section && k === name.key ? value : this.get(s, k)) };
  }
}

interface NamedValue extends SettingName {
  readonly value: string;
}

/** Returns the layer by our own names. `onTwice` is called for a setting under two names; the first of them counts. */
function toOwnLayer(
  settings: Settings,
  onTwice: (own: SettingName, first: NamedValue, second: NamedValue) => void,
): Layer {
  const layer: Layer = new Map();
  const found = new Map<string, NamedValue>();
  for (const [section, keys] of Object.entries(settings)) {
    for (const [key, value] of Object.entries(keys)) {
      const own = ownName(section, key);
      const names = namesOf(own);
      const rank = ({ section: s, key: k }: SettingName) => names.findIndex((n) => n.section === s && n.key === k);
      const other = found.get(nameText(own));
      const given = { section, key, value };
      const [first, second] = other && rank(other) < rank(given) ? [other, given] : [given, other];
      if (second !== undefined) onTwice(own, first, second);
      found.set(nameText(own), first);
      put(layer, own.section, own.key, first.value);
    }
  }
  return layer;
}

function nameText({ section, key }: SettingName): string {
  return `${section}/${key}`;
}

/** Returns the value of the first layer that has one. The last layer has the defaults: they are effective if a layer above has null. */
function valueIn(layers: readonly Layer[], section: string, key: string): string | undefined {
  const found = layers.find((layer) => has(layer, section, key));
  return found?.get(section)?.get(key) ?? layers.at(-1)?.get(section)?.get(key) ?? undefined;
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

/** A file of lines can't hold a line break, and none of these characters means anything in a setting. */
const CONTROLS = /\p{Cc}|\p{Cs}/u;
const MAX_NAME_LENGTH = 1_024;
const MAX_VALUE_LENGTH = 65_536;

function checkText(section: string, key: string, value: string): void {
  for (const name of [section, key]) {
    if (name === '')
      throw new DatabaseError('bad_request', 'A setting must have the name of a section and the name of a key.');
    if (CONTROLS.test(name) || name.length > MAX_NAME_LENGTH) {
      const reason = `Names of settings have at most ${MAX_NAME_LENGTH} characters, and no line breaks or other control characters.`;
      throw new DatabaseError('bad_request', reason);
    }
  }
  if (CONTROLS.test(value) || value.length > MAX_VALUE_LENGTH) {
    const reason = `The value of ${section}/${key} can't be stored: it must have at most ${MAX_VALUE_LENGTH} characters, and no line breaks or other control characters.`;
    throw new DatabaseError('bad_request', reason);
  }
}

function givenTwice(own: SettingName, first: SettingName, second: SettingName): DatabaseError {
  const reason = `Setting ${nameText(own)} is given under two names with different values, ${nameText(first)} and ${nameText(second)}. Set only one of them.`;
  return new DatabaseError('bad_request', reason);
}

function givenAtStart(section: string, key: string): DatabaseError {
  const reason = `Setting ${section}/${key} was set when the service was started, and that value takes precedence over stored ones. Start the service without it; or send the header X-Svc-Persist: false, to change the setting only until the next start.`;
  return new DatabaseError('modification_not_allowed', reason);
}
