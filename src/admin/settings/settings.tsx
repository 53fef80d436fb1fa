/** All settings of the server, by section: what they mean, and how they are changed. */
import { useMemo, useState } from 'preact/hooks';
import { Absent } from '../components/absent.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import { useLoaded } from '../components/load.ts';
import { NeedsAdmin } from '../components/needs-admin.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { review } from '../review/review.tsx';
import { ask } from '../server/client.ts';
import { type Configuration, NoConfigurationError, readConfiguration } from '../server/configuration.ts';
import { isAdmin, server } from '../server/session.ts';
import { AddSetting } from './add-setting.tsx';
import { type DoneChange, doneChanges, reviewUndo, type Setting } from './edit-setting.ts';
import { explain, isSecret, knownNames } from './explain.ts';
import { isChanged, SettingRow } from './setting-row.tsx';
import './settings.css';
import { theServer } from '../server/where.ts';

export function Settings() {
  return (
    <section>
      <header class="screen-head">
        <h1>Settings</h1>
        <span class="spring" />
        {server.value?.isSettee === true && (
          <WriteButton needsAdmin onClick={restart}>
            <Icon name="refresh" /> Restart
          </WriteButton>
        )}
      </header>
      {isAdmin.value ? <AllSettings /> : <NeedsAdmin what={`the settings of ${theServer()}`} />}
    </section>
  );
}

function AllSettings() {
  const [filter, setFilter] = useState('');
  const [isOnlyChanged, setOnlyChanged] = useState(false);
  const hasDefaults = server.value?.isSettee === true;
  const { value, failure, reload } = useLoaded(readConfiguration, []);
  const all = useMemo(() => (value === undefined ? undefined : toSettings(value, hasDefaults)), [value, hasDefaults]);
  const shown = all?.filter((one) => isWanted(one, filter) && (!isOnlyChanged || isChanged(one)));
  const sections = [...new Set(shown?.map(({ section }) => section))];
  if (failure instanceof NoConfigurationError) return <Absent>{failure.message}</Absent>;
  return (
    <>
      <ErrorNote failure={failure} retry={reload} />
      <DoneChanges all={all ?? []} onDone={reload} />
      <div class="tool-row">
        <label class="search">
          <Icon name="search" />
          <input
            type="search"
            placeholder="Name, value or meaning contains …"
            aria-label="Name, value or meaning contains"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </label>
        {hasDefaults && (
          <label class="switch">
            <input
              type="checkbox"
              checked={isOnlyChanged}
              onChange={(event) => setOnlyChanged(event.currentTarget.checked)}
            />
            Only changed
          </label>
        )}
        {shown !== undefined && (
          <span class="muted" aria-live="polite">
            {formatCount(shown.length)} of {formatCount(all?.length ?? 0)}
          </span>
        )}
      </div>
      {sections.map((section) => (
        <section key={section} class="settings-section" aria-label={section}>
          <h2>{section}</h2>
          {section === 'admins' && (
            <p class="muted">
              Create and change admins on the screen <a href="#/users">Users</a>.
            </p>
          )}
          <ul>
            {shown
              ?.filter((one) => one.section === section)
              .map((one) => (
                <SettingRow key={one.key} setting={one} hasDefaults={hasDefaults} onDone={reload} />
              ))}
          </ul>
        </section>
      ))}
      {shown?.length === 0 && <p class="muted">No setting is like that.</p>}
      <AddSetting onDone={reload} />
    </>
  );
}

function DoneChanges({ all, onDone }: { readonly all: readonly Setting[]; readonly onDone: () => void }) {
  const [failure, setFailure] = useState<unknown>(undefined);
  if (doneChanges.value.length === 0) return null;
  const undo = (change: DoneChange) => {
    const current = all.find(({ section, key }) => section === change.section && key === change.key)?.value;
    reviewUndo(change, current, onDone).catch(setFailure);
  };
  return (
    <section class="note done-changes" aria-label="Changes since the page was loaded">
      <h2>Changed since the page was loaded</h2>
      <ul>
        {doneChanges.value.map((change, index) => (
          <li key={`${doneChanges.value.length - index}`}>
            <code>
              {change.section}/{change.key}
            </code>
            <span>
              {textOf(change, change.before)} → {textOf(change, change.after)}
            </span>
            <WriteButton
              needsAdmin
              label={`Undo the change of ${change.section}/${change.key}`}
              onClick={() => undo(change)}
            >
              Undo
            </WriteButton>
          </li>
        ))}
      </ul>
      <ErrorNote failure={failure} />
    </section>
  );
}

function textOf({ section, key }: DoneChange, value: string | undefined): string {
  if (value === undefined) return explain(section, key)?.default ?? 'not set';
  return isSecret(section, key) ? '••••••' : value;
}

function toSettings(configuration: Configuration, hasDefaults: boolean): readonly Setting[] {
  const listed = Object.entries(configuration).flatMap(([section, values]) =>
    Object.entries(values).map(([key, value]): Setting => ({ section, key, value })),
  );
  const names = new Set(listed.map(({ section, key }) => `${section}/${key}`));
  const others = hasDefaults ? knownNames().filter((name) => !names.has(name)) : [];
  const all = [...listed, ...others.map(unset)];
  return all.toSorted((one, other) => (`${one.section}/${one.key}` < `${other.section}/${other.key}` ? -1 : 1));
}

function unset(name: string): Setting {
  const at = name.indexOf('/');
  return { section: name.slice(0, at), key: name.slice(at + 1), value: undefined };
}

function isWanted({ section, key, value }: Setting, filter: string): boolean {
  const wanted = filter.trim().toLowerCase();
  const shown = isSecret(section, key) ? '' : (value ?? '');
  return `${section}/${key} ${shown} ${explain(section, key)?.meaning ?? ''}`.toLowerCase().includes(wanted);
}

function restart(): void {
  review({
    title: 'Restart the service',
    effects: [
      'The service is closed and opened again, with the settings that its file then has. The process and its address stay.',
      'Feeds and live queries end, and begin again where their clients ask for it. Requests that come meanwhile wait.',
    ],
    requests: [{ method: 'POST', path: '_restart', json: '{}' }],
    action: 'Restart',
    needsAdmin: true,
    apply: async () => {
      await ask('POST', '_restart', { json: {} });
    },
  });
}
