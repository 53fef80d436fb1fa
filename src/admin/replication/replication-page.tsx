/** One replication: its figures and graphs, its history, the documents that it could not copy, and what ends or changes it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Breadcrumb } from '../components/breadcrumb.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount } from '../components/format.ts';
import { useLoaded } from '../components/load.ts';
import { Time } from '../components/time.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { Graph } from '../graph/graph.tsx';
import { ratesOf, type Sample, timesOf, useSamples, valuesOf } from '../graph/samples.ts';
import { goTo, hrefOf } from '../page/router.ts';
import type { JsonObject } from '../server/client.ts';
import {
  isLocal,
  type ReplicationDetails,
  type ReplicationName,
  readReplication,
  readReplicationDocument,
} from '../server/replication.ts';
import { type ReplicationState, textOf } from '../server/replications.ts';
import { History } from './history.tsx';
import { RefusedDocuments } from './refused-documents.tsx';
import { membersToEdit, reviewCancel, reviewDeletion, reviewRewrite } from './rewrite.ts';
import { maskSecrets, titleOf } from './secrets.ts';

const EVERY_MS = 2_000;

interface Page {
  readonly details: ReplicationDetails | undefined;
  readonly document: JsonObject | undefined;
}

export function ReplicationPage(name: ReplicationName) {
  const { docId, jobId } = name;
  const [isGone, setGone] = useState(false);
  const every = isGone ? undefined : EVERY_MS;
  const { value, failure, reload } = useLoaded((signal) => readPage(name, signal), [docId, jobId], every);
  const samples = useSamples(`${docId ?? ''} ${jobId ?? ''}`, value, ({ details }) => ({
    written: details?.state.written,
    pending: details?.state.pending,
  }));
  const { details, document } = value ?? {};
  // What a request asked for leaves the list when it ends. A document stays, and may be started again.
  useEffect(() => setGone(docId === undefined && value !== undefined && details === undefined), [docId, value]);
  return (
    <section>
      <header class="screen-head">
        <Breadcrumb above={[{ label: 'Replication', href: '#/replication' }]} />
        <h1>{titleOf(details?.state ?? document) ?? docId ?? jobId}</h1>
        <span class="spring" />
        {docId !== undefined && document !== undefined && (
          <DocumentActions docId={docId} found={document} isStuck={details !== undefined && waits(details.state)} />
        )}
        {docId === undefined && details?.state.replicationId !== undefined && (
          <CancelButton id={details.state.replicationId} />
        )}
      </header>
      <ErrorNote failure={failure} retry={reload} />
      {value !== undefined && details === undefined && <Gone isDocument={docId !== undefined} document={document} />}
      {details !== undefined && (
        <>
          <State details={details} docId={docId} />
          <Graphs samples={samples} isWithout={details.state.written === undefined} />
          <RefusedDocuments details={details} document={document} reload={reload} />
          <History details={details} formerId={textOf(document?._replication_id)} />
        </>
      )}
      {document !== undefined && <DocumentText docId={docId ?? ''} document={document} />}
    </section>
  );
}

async function readPage(name: ReplicationName, signal: AbortSignal): Promise<Page> {
  const [details, document] = await Promise.all([
    readReplication(name, signal),
    name.docId === undefined ? undefined : readReplicationDocument(name.docId, signal),
  ]);
  return { details, document };
}

function Gone({ isDocument, document }: { readonly isDocument: boolean; readonly document: JsonObject | undefined }) {
  if (document !== undefined) return <p class="note">The server does not list the replication of this document.</p>;
  return (
    <p class="note">
      {isDocument
        ? 'There is no such document in _replicator: it was deleted, or never written.'
        : 'It is no longer in the list of the server: it is done, was cancelled, or the server was started again.'}{' '}
      <a href="#/replication">All replications</a>
    </p>
  );
}

/** It does not get on at present. */
function waits({ health, state }: ReplicationState): boolean {
  return health === 'bad' || state === 'paused';
}

function CancelButton({ id }: { readonly id: string }) {
  return (
    <WriteButton class="danger" onClick={() => reviewCancel(id)}>
      Cancel
    </WriteButton>
  );
}

interface DocumentActionsProps {
  readonly docId: string;
  readonly found: JsonObject;
  /** It does not get on. */
  readonly isStuck: boolean;
}

function DocumentActions({ docId, found, isStuck }: DocumentActionsProps) {
  const isRunning = found._replication_state === 'triggered' && !isStuck;
  return (
    <>
      <WriteButton
        why={isRunning ? 'It is running. To change what it does, edit it.' : undefined}
        onClick={() => reviewRewrite({ docId, found, members: membersToEdit(found) })}
      >
        Start again
      </WriteButton>
      <WriteButton onClick={() => goTo(['replication', docId], { edit: '' })}>Edit</WriteButton>
      <WriteButton class="danger" onClick={() => reviewDeletion(docId, found)}>
        Delete
      </WriteButton>
    </>
  );
}

function State({ details, docId }: { readonly details: ReplicationDetails; readonly docId: string | undefined }) {
  const { state, user, startTime, errorCount, endpoints } = details;
  const { source, target, stateText, health, isContinuous, replicationId, error } = state;
  const [from = source, to = target] = endpoints;
  return (
    <>
      <div class="replication-state" role="status">
        <span class={`dot ${health}`} aria-hidden="true" />
        <strong>{stateText}</strong>
        {isContinuous && <span class="tag">continuous</span>}
        {error !== undefined && <Trouble error={error} details={details} />}
      </div>
      <Figures details={details} />
      <dl class="facts">
        <Fact name="From" value={<Endpoint name={from} />} />
        <Fact name="To" value={<Endpoint name={to} />} />
        {docId !== undefined && (
          <Fact
            name="Document"
            value={<a href={hrefOf(['db', '_replicator', 'document', docId])}>_replicator / {docId}</a>}
          />
        )}
        {replicationId !== undefined && <Fact name="Replication id" value={<code>{replicationId}</code>} />}
        {user !== undefined && <Fact name="Asked for by" value={user} />}
        {startTime !== undefined && <Fact name="Started" value={<Time text={startTime} />} />}
        {errorCount !== undefined && errorCount > 0 && (
          <Fact name="Failures in a row" value={formatCount(errorCount)} />
        )}
      </dl>
    </>
  );
}

/** Why it can't go on, since when, and when it is tried again. */
function Trouble({ error, details }: { readonly error: string; readonly details: ReplicationDetails }) {
  const { errorSince, nextAttempt } = details;
  const inSeconds = nextAttempt === undefined ? undefined : Math.round((Date.parse(nextAttempt) - Date.now()) / 1000);
  return (
    <>
      <p class={details.state.state === 'paused' ? 'muted' : 'bad-text'}>{error}</p>
      {errorSince !== undefined && (
        <p class="muted">
          Nothing has succeeded since <Time text={errorSince} />.
          {inSeconds !== undefined && ` It is tried again ${inSeconds > 0 ? `in ${inSeconds} s` : 'now'}.`}
        </p>
      )}
    </>
  );
}

function Endpoint({ name }: { readonly name: string }) {
  return isLocal(name) ? <a href={hrefOf(['db', name])}>{name}</a> : <span>{name}</span>;
}

function Fact({ name, value }: { readonly name: string; readonly value: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Figures({ details }: { readonly details: ReplicationDetails }) {
  const { pending, written, read, refused } = details.state;
  return (
    <dl class="figures">
      <Figure name="Pending" count={pending} />
      <Figure name="Read" count={read} />
      <Figure name="Written" count={written} />
      <Figure name="Refused" count={refused} isBad={refused > 0} />
    </dl>
  );
}

interface FigureProps {
  readonly name: string;
  readonly count: number | undefined;
  readonly isBad?: boolean;
}

function Figure({ name, count, isBad = false }: FigureProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={isBad ? 'bad-text' : undefined}>{count === undefined ? '–' : formatCount(count)}</dd>
    </div>
  );
}

/** Lines of what was polled since the page was opened. `isWithout`: the server has no figures. */
function Graphs({ samples, isWithout }: { readonly samples: readonly Sample[]; readonly isWithout: boolean }) {
  const times = timesOf(samples);
  const none = isWithout ? 'No figures since the start of the server.' : undefined;
  return (
    <div class="graphs">
      <Graph
        label="Documents written per second"
        times={times}
        nothing={none ?? `Measured from now on: the first rate is there in ${EVERY_MS / 1000} seconds.`}
        series={[{ label: 'Written per second', values: ratesOf(samples, 'written') }]}
      />
      <Graph
        label="Changes pending"
        times={times}
        nothing={none ?? 'The server does not say how many.'}
        series={[{ label: 'Pending', values: valuesOf(samples, 'pending') }]}
      />
    </div>
  );
}

function DocumentText({ docId, document }: { readonly docId: string; readonly document: JsonObject }) {
  return (
    <details class="document-text">
      <summary>The document {docId}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
      <pre class="code" tabIndex={0}>
        {JSON.stringify(maskSecrets(document), null, 2)}
      </pre>
    </details>
  );
}
