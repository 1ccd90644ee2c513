import { condition, defineUpdate, setHandler } from '@temporalio/workflow';

export const submit = defineUpdate<unknown, [request: unknown]>('submit');

/** The floor: a workflow that an update starts, whose update does nothing but return what it was given. */
export async function noop(request: unknown): Promise<unknown> {
  let done = false;
  setHandler(submit, (given) => {
    done = true;
    return given;
  });
  await condition(() => done);
  return request;
}
