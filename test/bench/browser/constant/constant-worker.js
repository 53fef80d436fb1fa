// Answers the service worker beside it with a constant: over channels, and over the port that the page gives to both.
const answers = new BroadcastChannel('constant-answers');
const questions = new BroadcastChannel('constant-questions');
questions.onmessage = ({ data }) => answers.postMessage([data, '{"_id":"doc","n":1}\n']);
self.onmessage = ({ ports: [port] }) => {
  port.onmessage = ({ data }) => port.postMessage([data, '{"_id":"doc","n":1}\n']);
};
