/**
 * What is used of the frameworks, which an app has installed itself (`peerDependencies`). So the build of Settee installs none of them; the tests in
 * test/integrations use the real ones.
 */
declare module 'react' {
  export function useEffect(effect: () => void): void;
  export function useMemo<Value>(create: () => Value, dependencies: readonly unknown[]): Value;
  export function useSyncExternalStore<Snapshot>(
    subscribe: (onChange: () => void) => () => void,
    getSnapshot: () => Snapshot,
    getServerSnapshot: () => Snapshot,
  ): Snapshot;
}

declare module 'vue' {
  export interface ShallowRef<Value> {
    value: Value;
  }
  export type MaybeRefOrGetter<Value> = Value | { readonly value: Value } | (() => Value);
  export function shallowRef<Value>(value: Value): ShallowRef<Value>;
  export function toValue<Value>(source: MaybeRefOrGetter<Value>): Value;
  export function watch<Value>(
    source: () => Value,
    onChange: (value: Value) => void,
    options?: { readonly immediate?: boolean },
  ): void;
  export function onScopeDispose(work: () => void): void;
}

declare module 'svelte/reactivity' {
  export function createSubscriber(start: (update: () => void) => () => void): () => void;
}

declare module 'solid-js' {
  export type Accessor<Value> = () => Value;
  export function createSignal<Value>(
    value: Value,
  ): [get: Accessor<Value>, set: (change: (former: Value) => Value) => void];
  export function createEffect(effect: () => void): void;
  export function onCleanup(work: () => void): void;
  export function untrack<Value>(work: () => Value): Value;
}
