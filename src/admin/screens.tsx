/** From addresses to screens. Each screen is loaded when it is first seen. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ErrorNote } from './components/error-note.tsx';
import { DatabaseFrame } from './database/database-frame.tsx';
import { Overview } from './overview/overview.tsx';
import { route } from './page/router.ts';
import type { DatabaseScreenProps } from './page/screen-props.ts';

/** Screens of the server, by the first segment. */
const SERVER_SCREENS: Readonly<Record<string, () => Promise<ComponentType>>> = {
  activity: async () => (await import('./activity/activity.tsx')).Activity,
  console: async () => (await import('./console/console.tsx')).Console,
  login: async () => (await import('./session/log-in.tsx')).LogIn,
  replication: async () => (await import('./replication/replication.tsx')).Replication,
  'self-test': async () => (await import('./self-test/self-test.tsx')).SelfTest,
  settings: async () => (await import('./settings/settings.tsx')).Settings,
  users: async () => (await import('./users/users.tsx')).Users,
};

/** Screens of a database, by the segment after its name. */
const DATABASE_SCREENS: Readonly<Record<string, () => Promise<ComponentType<DatabaseScreenProps>>>> = {
  changes: async () => (await import('./changes/changes.tsx')).Changes,
  document: async () => (await import('./document/document.tsx')).Document,
  documents: async () => (await import('./documents/documents.tsx')).Documents,
  query: async () => (await import('./query/query.tsx')).Query,
  security: async () => (await import('./security/security.tsx')).Security,
  shape: async () => (await import('./shape/shape.tsx')).Shape,
  storage: async () => (await import('./storage/storage.tsx')).Storage,
  views: async () => (await import('./views/views.tsx')).Views,
};

/** Loads the code of all screens, so that they open at once, also when the server is away by then. A failure is met when the screen is opened. */
export function loadAllScreens(): void {
  for (const load of [...Object.values(SERVER_SCREENS), ...Object.values(DATABASE_SCREENS)]) {
    void load().catch(() => undefined);
  }
}

export function Screen() {
  const [first, database, name = 'documents', ...rest] = route.value.segments;
  if (first === undefined) return <Overview />;
  if (first === 'db' && database !== undefined) {
    const load = DATABASE_SCREENS[name];
    return (
      <DatabaseFrame database={database} current={name}>
        {load === undefined ? <NoScreen /> : <Deferred load={load} props={{ database, rest }} />}
      </DatabaseFrame>
    );
  }
  const load = SERVER_SCREENS[first];
  return load === undefined ? <NoScreen /> : <Deferred load={load} props={{}} />;
}

function NoScreen() {
  return (
    <p>
      There is no such screen. <a href="#/">Go to the databases</a>.
    </p>
  );
}

function Deferred<P extends object>({
  load,
  props,
}: {
  readonly load: () => Promise<ComponentType<P>>;
  readonly props: P;
}) {
  const [loaded, setLoaded] = useState<{ readonly Component: ComponentType<P> } | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const begin = () => {
    setFailure(undefined);
    load().then((Component) => setLoaded({ Component }), setFailure);
  };
  useEffect(begin, [load]);
  if (failure !== undefined) return <ErrorNote failure={failure} retry={begin} />;
  return loaded === undefined ? null : <loaded.Component {...props} />;
}
