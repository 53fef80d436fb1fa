// The least that a write costs: a worker that stores a text in an IndexedDB transaction of its own, as ours does, and does nothing else.
const opened = new Promise((resolve, reject) => {
  const request = indexedDB.open('bench-storing', 1);
  request.onupgradeneeded = () => request.result.createObjectStore('journal', { autoIncrement: true });
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

self.onmessage = async ({ data: text }) => {
  const database = await opened;
  const transaction = database.transaction('journal', 'readwrite', { durability: 'relaxed' });
  transaction.objectStore('journal').add(text);
  transaction.commit();
  transaction.oncomplete = () => self.postMessage(text);
  transaction.onabort = () => self.reportError(transaction.error);
};
