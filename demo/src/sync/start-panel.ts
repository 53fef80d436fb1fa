/** What can be done while the list has no database at the server: begin it in this browser alone, or make the one at the server as its admin. */
import { button, fill, make } from '../elements/elements.ts';
import type { ServerReason } from '../following/server-reason.ts';
import type { PackingList } from './packing-list.ts';

export interface StartPanelHost {
  /** The list of this browser is empty. */
  isEmpty(): boolean;
  /** Begins the list in this browser. */
  begin(): Promise<void>;
  /** The database at the server was made. */
  onMade(): void;
  /** Where the server is, if that is known. */
  address(): string | undefined;
}

export class StartPanel {
  readonly element = make('div', { class: 'start-panel', hidden: true });
  readonly #there: PackingList;
  readonly #host: StartPanelHost;
  readonly #said = make('p', { class: 'hint', role: 'alert' });
  readonly #begin = button('Begin the list in this browser', () => void this.#run(() => this.#host.begin()), {
    class: 'primary',
    'data-action': 'begin-here',
  });
  #shown = '';

  constructor(there: PackingList, host: StartPanelHost) {
    this.#there = there;
    this.#host = host;
  }

  /** Undefined: the server is used, and there is nothing to be done. */
  show(reason: ServerReason | undefined): void {
    this.element.hidden = reason === undefined;
    this.#begin.hidden = !this.#host.isEmpty();
    const shown = reason === undefined ? '' : reason.kind === 'refused' && reason.status === 401 ? 'admin' : 'begin';
    // What is typed in the form stays.
    if (shown === this.#shown) return;
    this.#shown = shown;
    fill(this.#said);
    if (shown === '') fill(this.element);
    else fill(this.element, shown === 'admin' && this.#adminForm(), this.#begin, this.#said);
  }

  #adminForm(): HTMLElement {
    const field = (label: string, attributes: Readonly<Record<string, string>>) => {
      const input = make('input', { required: true, autocapitalize: 'off', ...attributes });
      return { input, element: make('label', {}, make('span', {}, label), input) };
    };
    const name = field('Name of the admin', { type: 'text', name: 'admin', autocomplete: 'username' });
    const password = field('Password', { type: 'password', name: 'password', autocomplete: 'current-password' });
    const submit = async () => {
      const isMade = await this.#there.createAs(name.input.value, password.input.value);
      password.input.value = '';
      if (isMade) this.#host.onMade();
      else fill(this.#said, 'Name or password is wrong.');
    };
    const address = this.#host.address();
    return make(
      'form',
      {
        class: 'admin-form',
        'aria-label': 'Make the database at the server',
        submit: (event) => {
          event.preventDefault();
          void this.#run(submit);
        },
      },
      name.element,
      password.element,
      make(
        'button',
        { type: 'submit', class: 'primary', 'data-action': 'make-there' },
        'Make the database at the server',
      ),
      make('p', { class: 'hint' }, 'Or in a shell: ', make('code', {}, commandOf(address))),
    );
  }

  async #run(work: () => Promise<void>): Promise<void> {
    fill(this.#said);
    try {
      await work();
    } catch (error) {
      fill(this.#said, error instanceof Error ? error.message : String(error));
    }
  }
}

function commandOf(address = 'http://127.0.0.1:5984/'): string {
  return `curl -u ADMIN -X PUT ${address}settee-demo`;
}
