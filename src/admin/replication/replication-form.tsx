/** A form for a replication: a document of `_replicator`, or a request. */
import { useState } from 'preact/hooks';
import { Breadcrumb } from '../components/breadcrumb.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { useLoaded } from '../components/load.ts';
import { WriteButton } from '../components/write-button.tsx';
import { listDatabases } from '../server/databases.ts';
import { capital, isBrowser, thisServer } from '../server/where.ts';
import { Check, Choice } from './choices.tsx';
import { DocumentSelection, type PartProps } from './document-selection.tsx';
import { EndpointFields } from './endpoint-fields.tsx';
import { type FormValues, NO_VALUES, whyIncomplete } from './form-values.ts';
import { MoreOptions } from './more-options.tsx';
import { reviewStart } from './start-replication.ts';

/** What was typed: it stays while the user looks at something else. */
let typed = NO_VALUES;

export function ReplicationForm() {
  const [values, setValues] = useState(typed);
  const [failure, setFailure] = useState<unknown>(undefined);
  const { value: databases = [] } = useLoaded((signal) => listDatabases(signal), []);
  const change = (part: Partial<FormValues>) => {
    typed = { ...values, ...part };
    setValues(typed);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    setFailure(undefined);
    const started = () => {
      typed = NO_VALUES;
    };
    reviewStart(values, started).catch(setFailure);
  };
  const why = whyIncomplete(values);
  return (
    <section>
      <header class="screen-head">
        <Breadcrumb above={[{ label: 'Replication', href: '#/replication' }]} />
        <h1>New replication</h1>
      </header>
      <form class="form replication-form" onSubmit={submit}>
        <div class="endpoints">
          <EndpointFields
            title="Source"
            values={values.source}
            databases={databases}
            onChange={(source) => change({ source })}
          />
          <EndpointFields
            title="Target"
            values={values.target}
            databases={databases}
            onChange={(target) => change({ target })}
          />
        </div>
        <DocumentSelection values={values} change={change} />
        <How values={values} change={change} lacksTarget={lacksTarget(values, databases)} />
        <MoreOptions values={values} change={change} />
        <ErrorNote failure={failure} />
        {why !== undefined && (
          <p class="muted" role="status">
            {why}
          </p>
        )}
        <WriteButton type="submit" class="primary" why={why}>
          Review and start
        </WriteButton>
      </form>
    </section>
  );
}

function lacksTarget({ target, createTarget }: FormValues, databases: readonly string[]): boolean {
  const { kind, database } = target;
  return kind === 'local' && database !== '' && !createTarget && databases.length > 0 && !databases.includes(database);
}

function How({ values, change, lacksTarget: isTargetMissing }: PartProps & { readonly lacksTarget: boolean }) {
  const { isDocument, docId, isContinuous, createTarget } = values;
  return (
    <fieldset>
      <legend>How</legend>
      <Check isOn={isContinuous} set={(on) => change({ isContinuous: on })}>
        Continuous: copy each further change, too
      </Check>
      <Check isOn={createTarget} set={(on) => change({ createTarget: on })}>
        Create the target if it does not exist
      </Check>
      {isTargetMissing && (
        <p class="field-error">
          {capital(thisServer())} has no database {values.target.database}: let it be created.
        </p>
      )}
      <Choice group="way" isChosen={isDocument} choose={() => change({ isDocument: true })}>
        A document in _replicator: it starts again with {isBrowser.value ? 'the app' : 'the server'}, and keeps its
        outcome
      </Choice>
      <Choice group="way" isChosen={!isDocument} choose={() => change({ isDocument: false })}>
        A request: it ends with {isBrowser.value ? 'the app' : 'the server'}
      </Choice>
      {isDocument && (
        <label class="field narrow">
          <span>Id of the document</span>
          <input
            value={docId}
            placeholder={isBrowser.value ? 'made for it' : 'made by the server'}
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            onInput={(event) => change({ docId: event.currentTarget.value.trim() })}
          />
        </label>
      )}
    </fieldset>
  );
}
