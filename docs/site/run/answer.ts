/** What a block has printed, shown below it. */
import type { Exchange } from './page-database.ts';

const MAX_SHOWN_CHARACTERS = 20_000;

export class Answer {
  readonly #element: HTMLElement;
  /** Each part is shown in the order in which it was reported, also if its body comes later. */
  #shown: Promise<void> = Promise.resolve();

  constructor(element: HTMLElement) {
    this.#element = element;
    element.replaceChildren();
    element.hidden = false;
  }

  /** Shows the page of an app, and resolves to its document. */
  async frame(html: string): Promise<Document | null> {
    const frame = document.createElement('iframe');
    const loaded = new Promise((resolve) => {
      frame.addEventListener('load', resolve, { once: true });
    });
    frame.className = 'runnable-app';
    frame.title = 'The app';
    frame.srcdoc = html;
    this.#element.append(frame);
    await loaded;
    return frame.contentDocument;
  }

  exchange({ method, path, response }: Exchange): void {
    const line = add(this.#element, 'p', 'runnable-request', `${method} ${path} `);
    const status = add(line, 'span', response.ok ? 'is-ok' : 'is-refused', String(response.status));
    status.title = response.statusText;
    const body = add(this.#element, 'pre', 'runnable-body', '');
    const read = textOf(response);
    this.#shown = this.#shown.then(async () => {
      const text = await read;
      body.textContent = text;
      body.hidden = text === '';
    });
  }

  log(...values: readonly unknown[]): void {
    add(this.#element, 'pre', 'runnable-log', values.map(inspect).join(' '));
  }

  value(value: unknown): void {
    if (value === undefined || value instanceof Response) return;
    add(this.#element, 'pre', 'runnable-value', inspect(value));
  }

  error(error: unknown): void {
    add(this.#element, 'pre', 'runnable-error', describe(error)).setAttribute('role', 'alert');
  }

  /** Resolves when the bodies of all responses are shown. */
  async finished(): Promise<void> {
    await this.#shown;
    if (this.#element.childElementCount === 0) add(this.#element, 'p', 'runnable-request', 'Done.');
  }
}

function add(parent: HTMLElement, name: 'p' | 'pre' | 'span', className: string, text: string): HTMLElement {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  parent.append(element);
  return element;
}

async function textOf(response: Response): Promise<string> {
  const type = response.headers.get('content-type') ?? '';
  if (/^(image|audio|video)\//.test(type) && !type.includes('svg')) {
    return `${(await response.arrayBuffer()).byteLength} bytes of ${type}`;
  }
  const text = (await response.text()).trim().replaceAll('\r\n', '\n');
  if (text.length <= MAX_SHOWN_CHARACTERS) return text;
  return `${text.slice(0, MAX_SHOWN_CHARACTERS)}\n… and ${text.length - MAX_SHOWN_CHARACTERS} more characters`;
}

function inspect(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return describe(value);
  if (typeof value === 'function') return `function ${value.name}`;
  return JSON.stringify(value, undefined, 1)?.replace(/\n\s*/g, ' ') ?? String(value);
}

/** Errors of `settee/database` have the status, the error and the reason of the response. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return `Thrown: ${String(error)}`;
  const { status, error: code, reason } = error as { status?: unknown; error?: unknown; reason?: unknown };
  if (typeof reason === 'string') return `${error.name}: ${status} ${code}: ${reason}`;
  return `${error.name}: ${error.message}`;
}
