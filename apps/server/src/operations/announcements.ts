import { API_KEY_CHANGED_CHANNEL, type ApiKeyId, ORDER_EVENTS_CHANNEL } from '@petstore/domain';
import { connectRedis } from '@petstore/rate-limit';
import type { RedisTarget } from '@petstore/runtime';

export interface AnnouncementHandlers {
  /** Called when a key was changed anywhere. */
  readonly onKeyChanged: (id: ApiKeyId) => void;
  /** Called when events were recorded anywhere. */
  readonly onEvents: () => void;
}

/** How often it is announced at most that events were recorded, in milliseconds. */
const INTERVAL_MS = 20;

/**
 * Notifications between processes by Redis. Nothing depends on them: changes missed while Redis is away are found
 * within seconds all the same.
 *
 * @param target `undefined`: there is no Redis, and only this process is notified
 * @returns announces, a little later, that events were recorded: no response waits for it
 */
export function openAnnouncements(
  target: RedisTarget | undefined,
  handlers: AnnouncementHandlers,
  resources: AsyncDisposableStack,
): () => void {
  const publish = target === undefined ? () => {} : openChannels(target, handlers, resources);
  let announcing: NodeJS.Timeout | undefined;
  resources.defer(() => clearTimeout(announcing));
  return () => {
    announcing ??= setTimeout(() => {
      announcing = undefined;
      handlers.onEvents();
      publish();
    }, INTERVAL_MS);
  };
}

/** @returns tells other processes that events were recorded */
function openChannels(
  target: RedisTarget,
  { onKeyChanged, onEvents }: AnnouncementHandlers,
  resources: AsyncDisposableStack,
): () => void {
  // A connection that has subscribed can do nothing else.
  const [subscriber, publisher] = [connectRedis(target), connectRedis(target)];
  resources.defer(() => {
    subscriber.disconnect();
    publisher.disconnect();
  });
  subscriber.on('ready', () => {
    // Each by itself: a user of Redis may be allowed only one of them. A lost connection subscribes when it is back.
    for (const channel of [API_KEY_CHANGED_CHANNEL, ORDER_EVENTS_CHANNEL])
      subscriber.subscribe(channel).catch(() => {});
  });
  subscriber.on('message', (channel: string, text: string) => {
    if (channel === API_KEY_CHANGED_CHANNEL)
      onKeyChanged(text as ApiKeyId); // what the channel carries
    else onEvents();
  });
  return () => {
    publisher.publish(ORDER_EVENTS_CHANNEL, '').catch(() => {}); // other processes poll
  };
}
