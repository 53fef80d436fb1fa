/** Milliseconds from the beginning of a frame's navigation to what its page tells, such as constant/visit.html. It is left afterwards, so that its worker ends. */
export async function visit(address) {
  const frame = document.createElement('iframe');
  const told = new Promise((resolve, reject) => {
    addEventListener('message', function listen({ source, data }) {
      if (source !== frame.contentWindow) return;
      removeEventListener('message', listen);
      if (typeof data === 'number') resolve(data);
      else reject(new Error(`${address}: ${data}`));
    });
  });
  frame.src = address;
  document.body.append(frame);
  const ms = await told;
  frame.remove();
  await new Promise((resolve) => setTimeout(resolve, 300));
  return ms;
}
