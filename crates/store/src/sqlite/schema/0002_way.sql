-- How a step is run, by the newest version: 0 command, 1 script, 2 image, 3 outside, 4 built-in.
alter table queue add column way integer not null default 3;

update queue set way = coalesce((
    select case
               when step.value ->> 'run' = 'outside' then 3
               when step.value ->> 'run' is not null then 4
               when step.value ->> 'image' is not null then 2
               when step.value ->> 'script' is not null then 1
               else 0
           end
    from flow
    join version on version.id = flow.version
    join json_each(version.definition, '$.tasks') as step
    where flow.id = queue.flow and step.value ->> 'name' = queue.step
), 3);
