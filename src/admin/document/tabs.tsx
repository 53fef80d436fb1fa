import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';

interface TabsProps<T extends string> {
  readonly label: string;
  readonly tabs: readonly { readonly name: T; readonly label: string }[];
  readonly current: T;
  readonly onChange: (name: T) => void;
  /** Of the current tab. */
  readonly children: ComponentChildren;
}

/** Tabs, and the panel of the current one. The arrow keys go from tab to tab. */
export function Tabs<T extends string>({ label, tabs, current, onChange, children }: TabsProps<T>) {
  const id = useId();
  const row = useRef<HTMLDivElement>(null);
  const go = (by: number) => {
    const at = tabs.findIndex(({ name }) => name === current);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChange(next.name);
    row.current?.querySelector<HTMLElement>(`[data-tab="${next.name}"]`)?.focus();
  };
  return (
    <>
      <div class="tab-row">
        <div
          class="tabs"
          role="tablist"
          aria-label={label}
          ref={row}
          onKeyDown={(event) => {
            if (event.key === 'ArrowRight') go(1);
            if (event.key === 'ArrowLeft') go(-1);
          }}
        >
          {tabs.map((tab) => (
            <button
              type="button"
              role="tab"
              key={tab.name}
              id={`${id}-${tab.name}`}
              data-tab={tab.name}
              data-label={tab.label}
              aria-selected={tab.name === current}
              aria-controls={`${id}-panel`}
              tabIndex={tab.name === current ? 0 : -1}
              onClick={() => onChange(tab.name)}
            >
              {tab.label}
            </button>
          ))}
        </div>
      </div>
      <div class="tab-panel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current}`}>
        {children}
      </div>
    </>
  );
}
