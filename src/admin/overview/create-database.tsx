import { useState } from 'preact/hooks';
import { Dialog } from '../components/dialog.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { goTo } from '../page/router.ts';
import { RequestTexts } from '../review/review.tsx';
import { ask, pathOf } from '../server/client.ts';

const VALID = /^[a-z][a-z0-9_$()+/-]*$/;

export function CreateDatabase({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [failure, setFailure] = useState<unknown>(undefined);
  const create = async (event: Event) => {
    event.preventDefault();
    setFailure(undefined);
    try {
      await ask('PUT', pathOf(name));
      onClose();
      goTo(['db', name]);
    } catch (error) {
      setFailure(error);
    }
  };
  const why = whyInvalid(name);
  return (
    <Dialog title="Create a database" onClose={onClose}>
      <form class="form" onSubmit={(event) => void create(event)}>
        <label class="field">
          <span>Name</span>
          <input
            value={name}
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            aria-describedby="create-why"
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <p id="create-why" class={why !== undefined && name !== '' ? 'field-error' : 'muted'}>
          {name === '' || why === undefined ? 'Small letters, digits and _ $ ( ) + - /, a letter first.' : why}
        </p>
        <ErrorNote failure={failure} />
        {why === undefined && <RequestTexts requests={[{ method: 'PUT', path: pathOf(name) }]} />}
        <WriteButton type="submit" class="primary" needsAdmin why={why}>
          Create
        </WriteButton>
      </form>
    </Dialog>
  );
}

function whyInvalid(name: string): string | undefined {
  if (name === '') return 'A database needs a name.';
  if (!/^[a-z]/.test(name)) return 'The first character must be a small letter.';
  const bad = [...name].find((character) => !VALID.test(`a${character}`));
  return bad === undefined ? undefined : `The name can't contain “${bad}”.`;
}
