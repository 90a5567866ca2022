import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * HDFS on this machine: prints its WebHDFS address and runs until standard input ends. Arguments: its folder; then a keytab with the keys of
 * hdfs/localhost and HTTP/localhost, for one that asks for Kerberos, or an address that other hosts reach, and a folder whose files are put to
 * /user/oarfish/train.
 */
public class MiniHdfs {
    public static void main(String[] args) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set("dfs.permissions.enabled", "true");
        configuration.setInt("dfs.replication", 1);
        // Tokens as a cluster with Kerberos gives them, without Kerberos.
        configuration.setBoolean("dfs.namenode.delegation.token.always-use", true);
        if (args.length == 2) withKerberos(configuration, args[1]);
        if (args.length < 3) miniCluster(configuration, args[0]);
        else reachable(configuration, args[0], args[1], args[2]);
        while (System.in.read() >= 0) { }
        System.exit(0);
    }

    private static void withKerberos(Configuration configuration, String keytab) throws Exception {
        configuration.set("hadoop.security.authentication", "kerberos");
        for (String role : new String[] {"dfs.namenode", "dfs.datanode"}) {
            configuration.set(role + ".kerberos.principal", "hdfs/localhost");
            configuration.set(role + ".keytab.file", keytab);
        }
        for (String web : new String[] {"dfs.web.authentication.", "hadoop.http.authentication."}) {
            configuration.set(web + "type", "kerberos");
            configuration.set(web + "kerberos.principal", "HTTP/localhost");
            configuration.set(web + "kerberos.keytab", keytab);
        }
        configuration.setBoolean("dfs.block.access.token.enable", true);
        configuration.set("dfs.data.transfer.protection", "authentication");
        // Ports below 1024, or TLS between all: neither is what is tested.
        configuration.setBoolean("ignore.secure.ports.for.testing", true);
        UserGroupInformation.setConfiguration(configuration);
        UserGroupInformation.loginUserFromKeytab("hdfs/localhost", keytab);
    }

    private static void miniCluster(Configuration configuration, String folder) throws Exception {
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration, new File(folder)).numDataNodes(2).build();
        cluster.waitActive();
        ready(cluster.getFileSystem(), "127.0.0.1", cluster.getNameNode());
    }

    /** The mini cluster listens on loopback only: the same name node and data node, at an address. */
    private static void reachable(Configuration configuration, String folder, String address, String data) throws Exception {
        configuration.set("fs.defaultFS", "hdfs://" + address + ":8020");
        configuration.set("dfs.namenode.http-address", address + ":9870");
        configuration.set("dfs.namenode.name.dir", "file://" + folder + "/name");
        configuration.set("dfs.datanode.data.dir", "file://" + folder + "/data");
        for (String key : new String[] {"dfs.datanode.address", "dfs.datanode.http.address", "dfs.datanode.ipc.address"})
            configuration.set(key, address + ":0");
        configuration.set("dfs.datanode.hostname", address);
        configuration.setBoolean("dfs.namenode.datanode.registration.ip-hostname-check", false);
        DefaultMetricsSystem.setMiniClusterMode(true);
        NameNode.format(configuration);
        NameNode nameNode = NameNode.createNameNode(new String[0], configuration);
        DataNode.createDataNode(new String[0], configuration);
        FileSystem files = FileSystem.get(configuration);
        while (nameNode.getNamesystem().getNumLiveDataNodes() < 1 || nameNode.isInSafeMode()) Thread.sleep(200);
        files.mkdirs(new Path("/user/oarfish"));
        for (File file : new File(data).listFiles())
            files.copyFromLocalFile(new Path(file.getPath()), new Path("/user/oarfish/train/" + file.getName()));
        ready(files, address, nameNode);
    }

    private static void ready(FileSystem files, String address, NameNode nameNode) throws Exception {
        files.mkdirs(new Path("/user/oarfish"));
        files.setOwner(new Path("/user/oarfish"), "oarfish", "oarfish");
        System.out.println("hdfs://" + address + ":" + nameNode.getHttpAddress().getPort());
    }
}
