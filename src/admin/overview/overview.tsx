/** All databases of the server, as they are now, and whether they are in sync. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatBytes, formatCount } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import { useLoaded } from '../components/load.ts';
import { WriteButton } from '../components/write-button.tsx';
import { hrefOf } from '../page/router.ts';
import { ServerError } from '../server/client.ts';
import { changesBetween, type DatabaseInfo, infosOf, listDatabases } from '../server/databases.ts';
import { BrowserStorage } from './browser-storage.tsx';
import { CreateDatabase } from './create-database.tsx';
import { useDatabaseUpdates } from './database-updates.ts';
import { deleteDatabase } from './delete-database.ts';
import { OpenByName } from './open-by-name.tsx';
import { SyncBand } from './sync-band.tsx';

/** Rates are counted over this time. */
const RATE_MS = 10_000;

export function Overview() {
  const [filter, setFilter] = useState('');
  const [isCreating, setCreating] = useState(false);
  const [isLive, setLive] = useState(false);
  const load = (signal: AbortSignal) => listDatabases(signal);
  // Without a feed of changes the list is read again and again.
  const { value: names, failure, reload } = useLoaded(load, [], isLive ? undefined : RATE_MS);
  const { infos, failure: infoFailure, rates } = useInfos(names, reload, setLive);
  const isDenied = failure instanceof ServerError && [401, 403].includes(failure.status);
  const shown = useMemo(() => (names ?? []).filter((name) => name.includes(filter)), [names, filter]);
  return (
    <section>
      <header class="screen-head">
        <h1>Databases</h1>
        {names !== undefined && <span class="muted">{formatCount(names.length)}</span>}
        {isLive ? (
          <span class="tag good">live</span>
        ) : (
          names !== undefined && <span class="muted">read again every {RATE_MS / 1000} seconds</span>
        )}
        <span class="spring" />
        <WriteButton class="primary" needsAdmin onClick={() => setCreating(true)}>
          <Icon name="plus" /> Create database
        </WriteButton>
      </header>
      <SyncBand />
      <BrowserStorage />
      {isDenied ? <OpenByName /> : <ErrorNote failure={failure ?? infoFailure} retry={reload} />}
      {isCreating && <CreateDatabase onClose={() => setCreating(false)} />}
      {names !== undefined && names.length > 8 && (
        <label class="search">
          <Icon name="search" />
          <input
            type="search"
            placeholder="Name contains …"
            aria-label="Name contains"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </label>
      )}
      {names?.length === 0 ? (
        <NoDatabases onCreate={() => setCreating(true)} />
      ) : (
        <DatabaseTable names={shown} infos={infos} rates={rates} />
      )}
      {names !== undefined && filter !== '' && shown.length === 0 && <p class="muted">No name contains “{filter}”.</p>}
    </section>
  );
}

function NoDatabases({ onCreate }: { readonly onCreate: () => void }) {
  return (
    <div class="empty">
      <p>There is no database yet. A database holds JSON documents, their attachments and the indexes over them.</p>
      <WriteButton class="primary" needsAdmin onClick={onCreate}>
        Create the first one
      </WriteButton>
    </div>
  );
}

interface TableProps {
  readonly names: readonly string[];
  readonly infos: ReadonlyMap<string, DatabaseInfo>;
  readonly rates: ReadonlyMap<string, number>;
}

function DatabaseTable({ names, infos, rates }: TableProps) {
  if (names.length === 0) return null;
  return (
    <table class="table database-table">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" class="number">
            Documents
          </th>
          <th scope="col" class="number">
            Deleted
          </th>
          <th scope="col" class="number">
            Size
          </th>
          <th scope="col" class="number">
            Changes/s
          </th>
          <th scope="col">
            <span class="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => (
          <DatabaseRow key={name} name={name} info={infos.get(name)} rate={rates.get(name) ?? 0} />
        ))}
      </tbody>
    </table>
  );
}

function DatabaseRow({
  name,
  info,
  rate,
}: {
  readonly name: string;
  readonly info: DatabaseInfo | undefined;
  readonly rate: number;
}) {
  const isDenied = info !== undefined && info.documents === undefined;
  return (
    <tr>
      <th scope="row">
        <a href={hrefOf(['db', name])}>{name}</a>
        {isDenied && <span class="tag">no right to read</span>}
        {info?.isCompacting === true && <span class="tag">compacting</span>}
      </th>
      <td class="number" data-label="Documents">
        {info?.documents === undefined ? '–' : formatCount(info.documents)}
      </td>
      <td class="number" data-label="Deleted">
        {info?.deleted === undefined ? '–' : formatCount(info.deleted)}
      </td>
      <td
        class="number"
        data-label="Size"
        title={info?.dataBytes === undefined ? undefined : `${formatBytes(info.dataBytes)} of it are data`}
      >
        {info?.fileBytes === undefined ? '–' : formatBytes(info.fileBytes)}
      </td>
      <td class="number" data-label="Changes/s">
        {rate === 0 ? <span class="muted">0</span> : rate.toFixed(rate < 10 ? 1 : 0)}
      </td>
      <td class="actions">
        <WriteButton class="quiet" needsAdmin label={`Delete ${name}`} onClick={() => deleteDatabase(name, info)}>
          <Icon name="trash" />
        </WriteButton>
      </td>
    </tr>
  );
}

/** What is known of the databases: loaded once, then each one again when it has changed. */
function useInfos(names: readonly string[] | undefined, reload: () => void, setLive: (isLive: boolean) => void) {
  const [infos, setInfos] = useState<ReadonlyMap<string, DatabaseInfo>>(new Map());
  const [rates, setRates] = useState<ReadonlyMap<string, number>>(new Map());
  const [failure, setFailure] = useState<unknown>(undefined);
  useEffect(() => {
    if (names === undefined) return undefined;
    const controller = new AbortController();
    infosOf(names, controller.signal).then(
      (found) => {
        setFailure(undefined);
        setInfos(new Map(found.map((info) => [info.name, info])));
      },
      (error: unknown) => {
        if (!controller.signal.aborted) setFailure(error);
      },
    );
    return () => controller.abort();
  }, [names]);
  const known = new Set(names);
  const isLive = useDatabaseUpdates(async (changed) => {
    const found = await infosOf(changed.filter((name) => known.has(name)));
    if (changed.some((name) => !known.has(name)) || found.some(({ updateSeq }) => updateSeq === undefined)) reload();
    setInfos((former) => {
      const next = new Map(former);
      for (const info of found) next.set(info.name, info);
      return next;
    });
  });
  useEffect(() => setLive(isLive), [isLive, setLive]);
  useRates(infos, setRates);
  return { infos, rates, failure };
}

/** Changes per second of each database, over the last ten seconds. */
function useRates(
  infos: ReadonlyMap<string, DatabaseInfo>,
  setRates: (rates: ReadonlyMap<string, number>) => void,
): void {
  const [samples] = useState(() => ({ at: Date.now(), infos, latest: infos }));
  samples.latest = infos;
  useEffect(() => {
    const timer = setInterval(() => {
      const now = Date.now();
      const rates = new Map<string, number>();
      for (const [name, { updateSeq }] of samples.latest) {
        const former = samples.infos.get(name);
        const changes = former === undefined ? undefined : changesBetween(former.updateSeq, updateSeq);
        if (changes !== undefined && changes > 0) rates.set(name, (changes * 1000) / (now - samples.at));
      }
      setRates(rates);
      samples.at = now;
      samples.infos = samples.latest;
    }, RATE_MS);
    return () => clearInterval(timer);
  }, [samples, setRates]);
}
