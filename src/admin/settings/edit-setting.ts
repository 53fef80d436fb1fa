/** Changes of settings: each is shown first, and can be undone. */
import { signal } from '@preact/signals';
import { review } from '../review/review.tsx';
import { ask, type ServerRequest } from '../server/client.ts';
import { configurationPath } from '../server/configuration.ts';
import { loadSession } from '../server/session.ts';
import { EFFECT_TEXTS, explain, isSecret } from './explain.ts';

export interface Setting {
  readonly section: string;
  readonly key: string;
  /** Undefined: it has none. */
  readonly value: string | undefined;
}

export interface DoneChange {
  readonly section: string;
  readonly key: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** What was changed since the page was loaded, newest first. */
export const doneChanges = signal<readonly DoneChange[]>([]);

interface ChangeRequest {
  readonly setting: Setting;
  /** Undefined: the setting is deleted, so that its default applies. */
  readonly after: string | undefined;
  readonly done: () => void;
  /** The change that this one takes back. */
  readonly undoes?: DoneChange;
}

/** Shows what the change does, and makes it. */
export async function reviewChange({ setting, after, done, undoes }: ChangeRequest): Promise<void> {
  const { section, key, value } = setting;
  const known = explain(section, key);
  const path = await configurationPath(section, key);
  const request: ServerRequest =
    after === undefined ? { method: 'DELETE', path } : { method: 'PUT', path, json: JSON.stringify(after) };
  const name = `${section}/${key}`;
  review({
    title: undoes === undefined ? `Change ${name}` : `Undo the change of ${name}`,
    effects: [
      ...(known === undefined ? [] : [known.meaning, EFFECT_TEXTS[known.effect]]),
      ...(after === undefined ? [resetText(known?.default)] : []),
      ...warningsOf(name),
    ],
    changes: [{ name, before: value, after: after ?? known?.default }],
    requests: [request],
    action: 'Store',
    needsAdmin: true,
    apply: async () => {
      const json = after === undefined ? {} : { json: after };
      await ask(request.method, path, { ...json, quiet: isSecret(section, key) });
      if (undoes !== undefined) doneChanges.value = doneChanges.value.filter((one) => one !== undoes);
      else doneChanges.value = [{ section, key, before: value, after }, ...doneChanges.value];
      await loadSession();
      done();
    },
  });
}

/** Takes a change back: the former value, or none if there was none. */
export function reviewUndo(change: DoneChange, current: string | undefined, done: () => void): Promise<void> {
  const { section, key, before } = change;
  const isDefault = before === undefined || before === explain(section, key)?.default;
  return reviewChange({
    setting: { section, key, value: current },
    after: isDefault ? undefined : before,
    done,
    undoes: change,
  });
}

function resetText(value: string | undefined): string {
  return value === undefined
    ? 'The setting is deleted.'
    : `The setting is deleted, so that its default applies: ${value}.`;
}

/** What the user may not expect. */
function warningsOf(name: string): readonly string[] {
  if (name === 'svc_httpd_auth/secret') return ['You will have to log in again.'];
  if (name === 'httpd/config_whitelist') {
    return ['Settings that are not named here can then be changed only where the server is started.'];
  }
  return [];
}
